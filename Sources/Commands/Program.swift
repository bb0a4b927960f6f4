import Foundation
import Glibc
import Spelling

/// A program: its command table, and everything derived from it.
package struct Program: Sendable {
    /// The result of reading a command line.
    package enum Reading: Sendable {
        case run(CommandPath, Arguments)
        /// Text for standard output: help, version, completion script, or manual page.
        case show(String)
        /// Lines for standard error; the exit code is 64.
        case refuse(String)
    }

    /// `EX_USAGE` of sysexits.h.
    static let usageExitCode = 64
    private static let helpWords = ["--help", "-help", "-h"]

    private let root: CommandPath

    /// Makes a program; without a version, it has no `--version`.
    package init(_ root: Command, version: String? = nil) {
        self.root = CommandPath(command: root, version: version)
    }

    /// Reads the bytes of a command line, without the program's name.
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

    /// The program and its commands, each group before its commands.
    package var commands: [CommandPath] { root.all }

    /// Reads a command line, without the program's name; the help is `width` columns wide.
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
            // Help takes precedence over everything that is wrong or missing.
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

    /// The output of a built-in option, if one is given.
    private func builtIn(_ line: SplitLine) throws(UsageError) -> String? {
        if line.has(BuiltIn.version), let version = root.version { return version + "\n" }
        if line.has(BuiltIn.manual) { return ManualPage(root).text }
        let script = BuiltIn.script
        let shell = try script.value(of: line.texts(script), from: script.declaration.label)
        return shell.map { CompletionScript(root: root).text(for: $0) }
    }

    /// The text for a usage error from the parser or a command, with a pointer to the help.
    private func refusal(_ error: UsageError, of path: CommandPath, width: Int) -> String {
        """
        \(complaint(error.text))\(HelpPage(path, width: width).usage)
        For more, run '\(path.words) --help'.

        """
    }

    /// The lines of an error, each prefixed with the program's name.
    private func complaint(_ text: String) -> String {
        text.split(separator: "\n").map { "\(root.words): \($0)\n" }.joined()
    }
}

// MARK: - The process

extension Program {
    /// Reads the process's command line and runs the command; ends the process on failure.
    ///
    /// - Parameter printable: Removes terminal control characters from lines that repeat words of
    ///   the command line, because someone else may read them.
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

    /// The bytes of the process's command line, without the program's name.
    private static var ownWords: [[UInt8]] {
        // SAFETY: the array has `argc` terminated strings that are valid as long as the process.
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

    /// The terminal's columns, or the variable COLUMNS, limited to 40 to 80.
    private static func width(_ environment: [String: String]) -> Int {
        var size = winsize()
        let isTerminal = unsafe ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0
        let columns = isTerminal ? Int(size.ws_col) : environment["COLUMNS"].flatMap { Int($0) }
        guard let columns, columns > 0 else { return 80 }
        return min(max(columns, 40), 80)
    }

    private func show(_ text: String) {
        // A reader that closed the pipe, such as `head`, has seen enough.
        guard let code = Self.write(text, to: STDOUT_FILENO), code != EPIPE else { return }
        // SAFETY: strerror returns a terminated string, valid until this thread's next call.
        let cause = unsafe String(cString: strerror(code))
        Self.end(complaint("standard output: cannot be written: \(cause)"), 1)
    }

    private static func end(_ text: String, _ code: Int) -> Never {
        // If this line cannot be written, the exit code stays the same.
        _ = write(text, to: STDERR_FILENO)
        exit(Int32(code))
    }

    /// - Returns: nil if everything was written, else `errno`.
    private static func write(_ text: String, to descriptor: Int32) -> Int32? {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            // SAFETY: write(2) reads the bytes of the buffer it is given.
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
