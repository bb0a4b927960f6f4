/// What was measured, for people and for programs.
struct Report {
    let measurements: [Measurement]

    /// A table; the last column compares with the first part, which is the floor of its group.
    var markdown: String {
        let floor = measurements[0].median
        var lines = [
            "| part | min ns | median ns | max ns | × floor |",
            "|---|---:|---:|---:|---:|",
        ]
        for measurement in measurements {
            lines.append(
                "| \(measurement.part.name) | \(tenth(measurement.minimum)) "
                    + "| \(tenth(measurement.median)) | \(tenth(measurement.maximum)) "
                    + "| \(tenth(measurement.median / floor)) |"
            )
        }
        return lines.joined(separator: "\n")
    }

    /// An object: by each part's name its nanoseconds a repetition, one figure a run, ascending.
    ///
    /// No name has a character that JSON escapes.
    var json: String {
        let members = measurements.map { measurement in
            let runs = measurement.runs.map(tenth).joined(separator: ", ")
            return "  \"\(measurement.part.name)\": [\(runs)]"
        }
        return "{\n" + members.joined(separator: ",\n") + "\n}"
    }

    private func tenth(_ value: Double) -> String {
        let tenths = Int((value * 10).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }
}
