import JSON

/// Reading the values of keywords.
extension SchemaCompiler {
    func refusal(_ keyword: String, _ message: String, _ context: Context) -> SchemaError {
        index.error(context.location.appending(keyword), message)
    }

    func string(
        _ value: JSONValue,
        _ keyword: String,
        _ context: Context
    ) throws(SchemaError) -> String {
        guard let text = value.string else { throw refusal(keyword, "must be a string", context) }
        return text
    }

    func boolean(
        _ value: JSONValue,
        _ keyword: String,
        _ context: Context
    ) throws(SchemaError) -> Bool {
        guard let truth = value.bool else { throw refusal(keyword, "must be a boolean", context) }
        return truth
    }

    func list(
        _ value: JSONValue,
        _ keyword: String,
        _ context: Context
    ) throws(SchemaError) -> [JSONValue] {
        guard let items = value.array else { throw refusal(keyword, "must be an array", context) }
        return items
    }

    func members(
        _ value: JSONValue,
        _ keyword: String,
        _ context: Context
    ) throws(SchemaError) -> [JSONObject.Member] {
        guard let object = value.object else {
            throw refusal(keyword, "must be an object", context)
        }
        return object.members
    }

    /// A nonnegative count; a value larger than any document is clamped.
    func count(
        _ value: JSONValue,
        _ keyword: String,
        _ context: Context
    ) throws(SchemaError) -> Int32 {
        guard let number = value.number, number.isInteger,
            number.isPositive || number.integer == 0
        else { throw refusal(keyword, "must be an integer of at least 0", context) }
        return Int32(clamping: number.integer ?? .max)
    }

    func number(
        _ value: JSONValue,
        _ keyword: String,
        _ context: Context
    ) throws(SchemaError) -> JSONNumber {
        guard let number = value.number else { throw refusal(keyword, "must be a number", context) }
        guard keyword == "multipleOf" else { return number }
        guard number.isPositive else { throw refusal(keyword, "must be above 0", context) }
        guard number.isDivisor else {
            throw refusal(keyword, "has more than 19 significant digits", context)
        }
        return number
    }

    func types(
        _ value: JSONValue,
        _ keyword: String,
        _ context: Context
    ) throws(SchemaError) -> TypeSet {
        var types: TypeSet = []
        for name in value.array ?? [value] {
            guard let type = TypeSet.names.first(where: { $0.name == name.string }) else {
                let names = TypeSet.names.map(\.name).joined(separator: ", ")
                throw refusal(keyword, "must be one or several of: \(names)", context)
            }
            guard types.insert(type.type).inserted else {
                throw refusal(keyword, "has '\(type.name)' twice", context)
            }
        }
        guard value.array?.isEmpty != true else {
            throw refusal(keyword, "must have at least one type", context)
        }
        return types
    }

    /// An array of names, stored as a range of operands.
    mutating func nameList(
        _ value: JSONValue,
        _ place: SchemaLocation
    ) throws(SchemaError) -> Range<Int32> {
        guard let items = value.array else { throw index.error(place, "must be an array of names") }
        var names: [Int32] = []
        var seen: Set<[UInt8]> = []
        for item in items {
            guard let text = item.string else {
                throw index.error(place, "must be an array of names")
            }
            guard seen.insert(Array(text.utf8)).inserted else {
                throw index.error(place, "has '\(text)' twice")
            }
            names.append(builder.name(text))
        }
        return builder.list(names)
    }

    mutating func pattern(
        _ text: String,
        _ keyword: String,
        _ context: Context
    ) throws(SchemaError) -> Int32 {
        do {
            return try builder.pattern(text)
        } catch {
            throw refusal(keyword, error.description, context)
        }
    }
}
