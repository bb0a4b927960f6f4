import Configuration
import SystemIO
import Testing

@Suite struct SecretExposureTests {
    private static let root: UInt32 = 0
    private static let service: UInt32 = 65532
    private static let somebody: UInt32 = 1000

    @Test(arguments: [
        (UInt32(0o600), service, service, false, String?.none),
        (0o400, service, service, false, nil),
        (0o640, service, service, false, "is readable by its group (mode 0640); set mode 0600"),
        (0o420, service, service, false, "is readable by its group (mode 0420); set mode 0600"),
        (
            0o644, service, service, false,
            "is readable by every user (mode 0644); set mode 0600, or 0640 if root owns it"
        ),
        (
            0o602, service, service, false,
            "is readable by every user (mode 0602); set mode 0600, or 0640 if root owns it"
        ),
        // Execute permission does not allow reading.
        (0o711, service, service, false, nil),
        // The service reads it through its group: a chart's 0440 with fsGroup, or a host's 0640.
        (0o440, root, service, false, nil),
        (0o640, root, service, false, nil),
        (0o640, somebody, service, false, nil),
        (0o640, root, root, false, nil),
        (
            0o644, root, service, false,
            "is readable by every user (mode 0644); set mode 0600, or 0640 if root owns it"
        ),
        (
            0o4, root, root, false,
            "is readable by every user (mode 0004); set mode 0600, or 0640 if root owns it"
        ),
        // The defaults of Kubernetes and Docker.
        (0o644, root, service, true, nil),
        (0o444, service, service, true, nil),
    ])
    func `a secret is readable by its owner only, or by its group if the service is not the owner`(
        mode: UInt32,
        owner: UInt32,
        user: UInt32,
        isMounted: Bool,
        exposure: String?
    ) {
        let rights = FileRights(mode: mode, owner: owner, isInReadOnlyMemory: isMounted)
        #expect(rights.exposure(user: user) == exposure)
    }
}
