import Vocabulary

/// What libFuzzer calls with each input of the fuzzer of commit metadata; `scripts/fuzz` builds and
/// runs it, together with the sources of `CommitMetadata`.
///
/// The first octet of an input is the characters that a broker takes, the second says how the
/// others are read: as the text, or as what a text holds, which is then sealed with its checksum;
/// no fuzzer would find that. What is believed must come back from the text that is written of it.
private func take(_ input: [UInt8]) {
    guard input.count >= 2 else { return }
    let limit = Int(input[0]) * 16 + 16
    let rest = input[2...]
    switch input[1] % 16 {
    case 0:
        let text = String(decoding: rest, as: UTF8.self)
        check(text, base: Offset(Int64(rest.count)), within: limit)
    case let form:
        let base = rest.prefix(8).reduce(0) { $0 << 8 | Int64($1) } & .max
        let codec = CommitMetadata.Codec.allCases[Int(form) % 3]
        let prefix = CommitMetadata.prefix(
            hasMark: (form - 1) / 3 % 2 == 1,
            hasEnd: form > 6,
            hasRecipients: input[1] / 16 % 2 == 1
        )
        let text = sealed(rest.dropFirst(8), Offset(base), codec, prefix)
        check(text, base: Offset(base), within: limit)
    }
}

private let partition = TopicPartition(topic: KafkaTopic("notifications"), partition: 7)

/// The text that holds these bytes.
private func sealed(
    _ bytes: ArraySlice<UInt8>,
    _ base: Offset,
    _ codec: CommitMetadata.Codec,
    _ prefix: [UInt8]
) -> String {
    let checksum = CommitMetadata.checksum(
        of: partition,
        base: base,
        prefix: prefix,
        codec: codec,
        bytes
    )
    var text = prefix + [codec.rawValue]
    Base64.url.append(bytes + CommitMetadata.littleEndian(checksum), to: &text)
    return String(decoding: text, as: UTF8.self)
}

private func check(_ text: String, base: Offset, within limit: Int) {
    guard let metadata = try? CommitMetadata(text, base: base, of: partition) else { return }
    let settled = metadata.settled
    precondition(settled.base == base && settled.span < CommitMetadata.maxSpan)
    if let mark = metadata.mark { precondition(mark.offset < base) }
    if let end = metadata.end { precondition(settled.isSettled(end.offset) && end.offset > base) }
    for entry in metadata.recipients {
        precondition(entry.record.offset >= base && !settled.isSettled(entry.record.offset))
        precondition(!entry.settled.isEmpty && entry.settled.count < entry.settled.recipientCount)
    }
    let written = metadata.text(for: partition)
    precondition(written.text.utf8.count <= CommitMetadata.maxCharacters)
    let read = try? CommitMetadata(written.text, base: base, of: partition)
    precondition(read?.nonce == metadata.nonce && read?.mark == metadata.mark)
    let isWhole = written.cutAt == nil && written.droppedRecipients == 0
    precondition(isWhole ? read == metadata : read != metadata)
    // Each codec has one form of each metadata; the shortest codec is not required.
    let hasSameCodec = written.text.utf8.dropFirst(2).first == text.utf8.dropFirst(2).first
    precondition(!isWhole || !hasSameCodec || written.text == text)
    // What is left out is what stands farthest.
    let short = metadata.text(for: partition, within: limit)
    precondition(short.text.utf8.count <= limit)
    guard !short.text.isEmpty else { return }
    guard let part = try? CommitMetadata(short.text, base: base, of: partition) else {
        preconditionFailure("what fits cannot be read: \(short.text)")
    }
    precondition(part.settled.horizon <= settled.horizon)
    precondition(
        short.cutAt.map { $0 == part.settled.horizon && part.end == nil }
            ?? (part.settled == settled && part.end == metadata.end)
    )
    let kept = part.recipients.count
    precondition(Array(metadata.recipients.prefix(kept)) == part.recipients)
    let dropped = metadata.recipients.dropFirst(kept).reduce(0) { $0 + $1.settled.count }
    precondition(short.droppedRecipients == dropped)
}

@c(LLVMFuzzerTestOneInput)
public func takeFuzzerInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    // SAFETY: libFuzzer's bytes live as long as the call.
    take(unsafe Array(UnsafeBufferPointer(start: bytes, count: count)))
    return 0
}
