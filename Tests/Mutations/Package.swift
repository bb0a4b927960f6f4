// swift-tools-version: 6.2

import PackageDescription

// The pure modules that `scripts/mutate` copies, and a runner: they build in half a minute.
// Mutated code leaves values unused, so warnings mean nothing here.
let strict: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

func module(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: strict)
}

let package = Package(
    name: "mutants",
    targets: [
        .target(
            name: "CSimdjson",
            linkerSettings: [.linkedLibrary("simdjson"), .linkedLibrary("m")]
        ),
        .target(name: "CRE2", linkerSettings: [.linkedLibrary("re2")]),
        .target(name: "CSHA1"),
        .systemLibrary(name: "CPrefetch"),
        module("Vocabulary", ["CSHA1"]),
        module("JSON", ["CSimdjson", "CRE2"]),
        module("APNsRules", ["Vocabulary", "JSON"]),
        module("ConnectionPool", ["Vocabulary"]),
        module("Delivery", ["Vocabulary", "APNsRules", "ConnectionPool", "CPrefetch"]),
        module("Simulation", ["Vocabulary", "APNsRules", "ConnectionPool", "Delivery"]),
        .executableTarget(
            name: "Runner",
            dependencies: ["Simulation", "Vocabulary"],
            swiftSettings: strict
        ),
    ],
    cxxLanguageStandard: .cxx17
)
