/// Private keys that guard nothing.
enum TestKeys {
    static let p384 = """
        -----BEGIN PRIVATE KEY-----
        MIG2AgEAMBAGByqGSM49AgEGBSuBBAAiBIGeMIGbAgEBBDAh/DRU7gQWBnUc7OV9
        dM0mG2w3WMU2538sK1CxcfRsq+8rC2xJIueea6bylah8KX6hZANiAAQlKREGtNpY
        Wj3uOMpQr7AfjtGcy2aOlhJzNntVXqryCsCaMNHu6Jj2P2WwLhaFuXvxd75StvAl
        ArjW9F6Uhkp+HHaiJN5JieaXJ8v10J2QJ5qfwATcnk0y9nAMs/z5egI=
        -----END PRIVATE KEY-----
        """

    static let ed25519 = """
        -----BEGIN PRIVATE KEY-----
        MC4CAQAwBQYDK2VwBCIEIL0Coxh9rcqEVwARsWshgktY9NzzsvuIOvGhBJrqHivz
        -----END PRIVATE KEY-----
        """

    static let encryptedP256 = """
        -----BEGIN ENCRYPTED PRIVATE KEY-----
        MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAgy8MO21VsIjwICCAAw
        DAYIKoZIhvcNAgkFADAdBglghkgBZQMEAQIEEIC3amyfPf92JGd5ILUdIYIEgZBW
        AojIVdgObNAHx5SyzxA0KXcoAV5t3RR/DIpyZMDyypbftJzbcfBb+eH5WG+ER6qj
        SMLwxM0fhHwUiyZ17ONH76bZ/J3AaUMp6ewkY78J/7cp/FITSIA/ZlM3V4/+rByu
        2cu36UpHCBFSD8tBXr/XoPahs8Vm90uLnjJzH3qespUrPdR1sFv8DFOqSpd7kMo=
        -----END ENCRYPTED PRIVATE KEY-----
        """
}
