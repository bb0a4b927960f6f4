extension String {
    /// Whether another text has the same bytes, as JSON compares texts.
    ///
    /// `==` compares as Unicode does, and finds a letter equal that is written in another way.
    public func hasSameBytes(as other: String) -> Bool {
        StringContent.isEqual(utf8.span, other.utf8.span)
    }
}
