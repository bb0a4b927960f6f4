/// A schema of schemas, built in so that references to it need no network.
struct Metaschema: Hashable, Sendable {
    /// Without a fragment.
    let uri: String
    let text: String

    static var all: [Metaschema] { draft2020 + draft2020Values + draft7 }
}
