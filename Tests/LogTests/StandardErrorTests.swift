import Glibc
import Log
import Testing

struct StandardErrorTests {
    @Test func `on a full disk, only the line is lost`() {
        let full = unsafe open("/dev/full", O_WRONLY)
        StandardError.write(Array("lost\n".utf8), to: full)
        close(full)
    }

    @Test func `on a full non-blocking pipe, a line is lost and the next one is not`() {
        var ends: [Int32] = [-1, -1]
        #expect(unsafe pipe(&ends) == 0)
        ends.forEach { _ = fcntl($0, F_SETFL, O_NONBLOCK) }
        let filler = [UInt8](repeating: UInt8(ascii: "."), count: 4096)
        while unsafe write(ends[1], filler, filler.count) > 0 {}
        StandardError.write(Array("lost\n".utf8), to: ends[1])

        var heard = Self.drain(ends[0])
        #expect(!heard.contains(UInt8(ascii: "l")))
        StandardError.write(Array("heard\n".utf8), to: ends[1])
        heard = Self.drain(ends[0])
        #expect(String(decoding: heard, as: UTF8.self) == "heard\n")
        ends.forEach { close($0) }
    }

    @Test func `on a full blocking pipe, a line is lost and the next one is not`() {
        let (ends, size) = Self.smallBlockingPipe()
        let filler = [UInt8](repeating: UInt8(ascii: "."), count: size)
        let filled = unsafe write(ends[1], filler, size)
        #expect(filled == size)
        StandardError.write(Array("lost\n".utf8), to: ends[1])
        #expect(Self.drain(ends[0]) == filler)

        StandardError.write(Array("heard\n".utf8), to: ends[1])
        #expect(String(decoding: Self.drain(ends[0]), as: UTF8.self) == "heard\n")
        ends.forEach { close($0) }
    }

    @Test func `a line that is longer than a blocking pipe loses its end`() {
        let (ends, size) = Self.smallBlockingPipe()
        let line = [UInt8](repeating: UInt8(ascii: "."), count: size + 1)
        StandardError.write(line, to: ends[1])
        #expect(Self.drain(ends[0]).count == size)
        ends.forEach { close($0) }
    }

    /// A pipe as small as possible, with a non-blocking end to read and a blocking end to write.
    private static func smallBlockingPipe() -> (ends: [Int32], size: Int) {
        var ends: [Int32] = [-1, -1]
        #expect(unsafe pipe(&ends) == 0)
        _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)
        // F_SETPIPE_SZ of fcntl(2); rounded up to a page.
        let size = fcntl(ends[1], 1031, 4096)
        #expect(size >= 4096)
        return (ends, Int(size))
    }

    private static func drain(_ descriptor: Int32) -> [UInt8] {
        var bytes: [UInt8] = []
        var block = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = unsafe read(descriptor, &block, block.count)
            guard count > 0 else { return bytes }
            bytes += block[..<count]
        }
    }
}
