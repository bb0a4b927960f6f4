// swift-tools-version: 6.0

import PackageDescription

let package = Package(
    name: "producer",
    targets: [.executableTarget(name: "producer")]
)
