import CYAML

/// Owns a libyaml parser and the bytes that it reads.
@safe struct EventReader: ~Copyable {
    // SAFETY: both are allocated in `init`, freed only in `deinit`, and never passed out. libyaml
    // keeps pointers into the parser and the bytes, which therefore must not move.
    private let parser: UnsafeMutablePointer<yaml_parser_t>
    private let bytes: UnsafeMutableBufferPointer<UInt8>
    private let source: SourceText

    init(_ source: SourceText) throws(YAMLError) {
        let parser = UnsafeMutablePointer<yaml_parser_t>.allocate(capacity: 1)
        unsafe parser.initialize(to: yaml_parser_t())
        guard unsafe yaml_parser_initialize(parser) == 1 else {
            unsafe parser.deallocate()
            throw YAMLError("cannot be read: out of memory", YAMLMark(line: 1, column: 1))
        }
        let bytes = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: source.bytes.count)
        _ = unsafe bytes.initialize(from: source.bytes)
        unsafe yaml_parser_set_input_string(parser, bytes.baseAddress, bytes.count)
        // `SourceText` has checked the encoding.
        unsafe yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
        unsafe self.parser = unsafe parser
        unsafe self.bytes = unsafe bytes
        self.source = source
    }

    deinit {
        unsafe yaml_parser_delete(parser)
        unsafe parser.deallocate()
        unsafe bytes.deallocate()
    }

    /// The next event; nil at the end.
    ///
    /// - Throws: `YAMLError` if the text is not YAML; there are no further events then.
    mutating func next() throws(YAMLError) -> Event? {
        while true {
            var event = unsafe yaml_event_t()
            // SAFETY: yaml_parser_parse first initializes the whole event, so it can be deleted
            // even if the call fails.
            defer { unsafe yaml_event_delete(&event) }
            guard unsafe yaml_parser_parse(parser, &event) == 1 else {
                throw unsafe YAMLError(parser.pointee, source)
            }
            switch unsafe event.type {
            case YAML_STREAM_START_EVENT: continue
            case YAML_STREAM_END_EVENT, YAML_NO_EVENT: return nil
            default: return unsafe Event(event, source)
            }
        }
    }
}

extension SourceText {
    /// Converts a libyaml mark, which counts from 0.
    ///
    /// libyaml puts the end of a text without a final line break on a line of its own.
    func mark(_ mark: yaml_mark_t) -> YAMLMark {
        let place = self.mark(at: mark.index)
        guard isEnd(mark.index), mark.column == 0, place.column > 1 else { return place }
        return YAMLMark(line: place.line + 1, column: 1)
    }
}

extension Event {
    /// Copies a libyaml event.
    ///
    /// - Returns: nil for the start and end of the stream.
    fileprivate init?(_ event: yaml_event_t, _ source: SourceText) {
        // SAFETY: the type determines which member of the union is set (yaml.h, `yaml_event_s`).
        switch unsafe event.type {
        case YAML_DOCUMENT_START_EVENT: content = .documentStart
        case YAML_DOCUMENT_END_EVENT: content = .documentEnd
        case YAML_ALIAS_EVENT:
            content = unsafe .alias(text(event.data.alias.anchor) ?? "")
        case YAML_SCALAR_EVENT:
            let scalar = unsafe event.data.scalar
            // SAFETY: the scalar has `length` bytes; it may contain NUL.
            let bytes = unsafe UnsafeBufferPointer(start: scalar.value, count: scalar.length)
            content = unsafe .scalar(
                String(decoding: bytes, as: UTF8.self),
                YAMLScalar.Style(scalar.style)
            )
            (anchor, tag) = unsafe (text(scalar.anchor), text(scalar.tag))
        case YAML_SEQUENCE_START_EVENT:
            content = .listStart
            let start = unsafe event.data.sequence_start
            (anchor, tag) = unsafe (text(start.anchor), text(start.tag))
        case YAML_SEQUENCE_END_EVENT: content = .listEnd
        case YAML_MAPPING_START_EVENT:
            content = .mappingStart
            let start = unsafe event.data.mapping_start
            (anchor, tag) = unsafe (text(start.anchor), text(start.tag))
        case YAML_MAPPING_END_EVENT: content = .mappingEnd
        default: return nil
        }
        mark = unsafe source.mark(event.start_mark)
    }
}

extension YAMLScalar.Style {
    fileprivate init(_ style: yaml_scalar_style_t) {
        self =
            switch style {
            case YAML_SINGLE_QUOTED_SCALAR_STYLE: .singleQuoted
            case YAML_DOUBLE_QUOTED_SCALAR_STYLE: .doubleQuoted
            case YAML_LITERAL_SCALAR_STYLE: .literal
            case YAML_FOLDED_SCALAR_STYLE: .folded
            default: .plain
            }
    }
}

/// Copies a NUL-terminated text.
private func text(_ characters: UnsafeMutablePointer<yaml_char_t>?) -> String? {
    // SAFETY: anchors and tags are NUL-terminated (yaml.h, `yaml_event_s`).
    unsafe characters.map { unsafe String(cString: $0) }
}
