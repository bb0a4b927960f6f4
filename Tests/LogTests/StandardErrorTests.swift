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
