import Foundation
import Glibc
import Spelling

/// A program: its table of commands, and everything that follows from it.
package struct Program: Sendable {
    /// What a command line asks for.
    package enum Reading: Sendable {
        case run(CommandPath, Arguments)
        /// A text for standard output: help, the version, a completion script, the manual page.
        case show(String)
        /// Lines for standard error; exit code 64.
        case refuse(String)
    }

    /// `EX_USAGE` of sysexits.h.
    static let usageExitCode = 64
    private static let helpWords = ["--help", "-help", "-h"]

    private let root: CommandPath

    /// Without a version there is no `--version`.
    package init(_ root: Command, version: String? = nil) {
        self.root = CommandPath(command: root, version: version)
    }

    /// Reads the bytes of a command line, without the program's own name.
    package func read(
        _ words: [[UInt8]],
        environment: [String: String] = [:],
        width: Int = 80
    ) -> Reading {
        do throws(UsageError) {
            return read(
                try CommandWords.texts(of: words),
                environment: environment,
                width: width
            )
        } catch {
            return .refuse(refusal(error, of: root, width: width))
        }
    }

    /// The program and its commands, each group before its own.
    package var commands: [CommandPath] { root.all }

    /// Reads a command line, without the program's own name; help fills `width` columns.
    package func read(
        _ words: [String],
        environment: [String: String] = [:],
        width: Int = 80
    ) -> Reading {
        var path = root
        do throws(UsageError) {
            var rest = words[...]
            let isHelpCommand = !root.children.isEmpty && rest.first == "help"
            if isHelpCommand { rest.removeFirst() }
            while !path.children.isEmpty, let word = rest.first, !word.hasPrefix("-") {
                path = try Self.child(of: path, named: word)
                rest.removeFirst()
            }
            let help = HelpPage(path, width: width)
            // Help comes first, whatever else is wrong or missing.
            let asksForHelp = rest.prefix { $0 != "--" }.contains(where: Self.helpWords.contains)
            if isHelpCommand || asksForHelp { return .show(help.text) }
            let line = try SplitLine(rest, options: path.options)
            if line.has(BuiltIn.help) { return .show(help.text) }
            if let text = try builtIn(line) { return .show(text) }
            let arguments = try Arguments(line, of: path.command, environment: environment)
            return path.command.body == nil ? .show(help.short) : .run(path, arguments)
        } catch {
            return .refuse(refusal(error, of: path, width: width))
        }
    }

    private static func child(
        of path: CommandPath,
        named word: String
    ) throws(UsageError) -> CommandPath {
        if let child = path.children.first(where: { $0.command.name == word }) { return child }
        let question = NearMiss.question(word, among: path.children.map(\.command.name))
        throw UsageError("\(word): unknown command\(question)")
    }

    /// What the options say that come with the table.
    private func builtIn(_ line: SplitLine) throws(UsageError) -> String? {
        if line.has(BuiltIn.version), let version = root.version { return version + "\n" }
        if line.has(BuiltIn.manual) { return ManualPage(root).text }
        let script = BuiltIn.script
        let shell = try script.value(of: line.texts(script), from: script.declaration.label)
        return shell.map { CompletionScript(root: root).text(for: $0) }
    }

    /// A usage error, from the parser or from a command, and where to read on.
    private func refusal(_ error: UsageError, of path: CommandPath, width: Int) -> String {
        """
        \(complaint(error.text))\(HelpPage(path, width: width).usage)
        For more, run '\(path.words) --help'.

        """
    }

    /// The lines of an error, each after the program's name.
    private func complaint(_ text: String) -> String {
        text.split(separator: "\n").map { "\(root.words): \($0)\n" }.joined()
    }
}

// MARK: - The process

extension Program {
    /// Reads the process's command line, runs the command, and ends the process if that fails.
    ///
    /// - Parameter printable: Takes what steers a terminal out of lines that repeat the command
    ///   line's words, which need not be those of who looks at them.
    package func main(printable: (String) -> String) async {
        let environment = ProcessInfo.processInfo.environment
        switch read(Self.ownWords, environment: environment, width: Self.width(environment)) {
        case .show(let text): show(text)
        case .refuse(let text): Self.end(printable(text), Self.usageExitCode)
        case .run(let path, let arguments):
            do {
                try await path.command.body?(arguments)
            } catch let error as UsageError {
                let text = refusal(error, of: path, width: Self.width(environment))
                Self.end(printable(text), Self.usageExitCode)
            } catch {
                Self.end(printable(complaint("\(error)")), 1)
            }
        }
    }

    /// The bytes of the process's own command line, without the program's name.
    private static var ownWords: [[UInt8]] {
        // SAFETY: the array has `argc` strings, terminated and valid as long as the process.
        let words = unsafe UnsafeBufferPointer(
            start: CommandLine.unsafeArgv,
            count: Int(CommandLine.argc)
        )
        return unsafe words.dropFirst().compactMap { word in
            unsafe word.map { word in
                unsafe Array(UnsafeRawBufferPointer(start: word, count: strlen(word)))
            }
        }
    }

    /// The terminal's columns, or what COLUMNS says, from 40 to 80.
    private static func width(_ environment: [String: String]) -> Int {
        var size = winsize()
        let isTerminal = unsafe ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0
        let columns = isTerminal ? Int(size.ws_col) : environment["COLUMNS"].flatMap { Int($0) }
        guard let columns, columns > 0 else { return 80 }
        return min(max(columns, 40), 80)
    }

    private func show(_ text: String) {
        // A reader that has gone, as `head` does, has seen enough.
        guard let code = Self.write(text, to: STDOUT_FILENO), code != EPIPE else { return }
        // SAFETY: strerror returns a terminated string, valid until this thread's next call.
        let cause = unsafe String(cString: strerror(code))
        Self.end(complaint("standard output: cannot be written: \(cause)"), 1)
    }

    private static func end(_ text: String, _ code: Int) -> Never {
        // A line that nobody can read changes no exit code.
        _ = write(text, to: STDERR_FILENO)
        exit(Int32(code))
    }

    /// - Returns: nil when all of it is written, else `errno`.
    private static func write(_ text: String, to descriptor: Int32) -> Int32? {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            // SAFETY: write(2) reads the bytes of the buffer it gets.
            let count = unsafe rest.withUnsafeBytes {
                unsafe Glibc.write(descriptor, $0.baseAddress, $0.count)
            }
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if errno != EINTR {
                return errno
            }
        }
        return nil
    }
}
