import Configuration

/// A credential, which every configuration needs.
let credentialYAML = """
    apns:
      credentials:
        - name: example
          team_id: DEF123GHIJ
          key_id: ABC123DEFG
          key_file: /keys/example.p8
          bundle_ids: [com.example.MyApp]

    """

func configuration(
    _ yaml: String,
    _ environment: [String: String] = [:]
) throws(ConfigurationError) -> Configuration {
    try Configuration(yaml: yaml, fileName: "h.yaml", environment: environment)
}

/// The problems in the operator's form.
func problems(_ yaml: String, _ environment: [String: String] = [:]) -> [String] {
    do throws(ConfigurationError) {
        _ = try configuration(yaml, environment)
        return []
    } catch {
        return error.problems.map(\.description)
    }
}
