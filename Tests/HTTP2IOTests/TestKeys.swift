/// Keys that protect nothing.
enum TestKeys {
    /// Made with `openssl pkcs12 -export`; passphrase "opensesame", valid for a hundred years.
    ///
    /// Subject and extensions are those of an Apple certificate for com.example.Old with VoIP and
    /// complication topics.
    static let pkcs12 = """
        MIIFDAIBAzCCBMIGCSqGSIb3DQEHAaCCBLMEggSvMIIEqzCCA2IGCSqGSIb3DQEH
        BqCCA1MwggNPAgEAMIIDSAYJKoZIhvcNAQcBMFcGCSqGSIb3DQEFDTBKMCkGCSqG
        SIb3DQEFDDAcBAgWlHhmCdHl/AICCAAwDAYIKoZIhvcNAgkFADAdBglghkgBZQME
        ASoEEG9E73N8LEyorE+b9lVxX8uAggLgEt3hf4XJkmFcx2cSVG8ahQLSQjxj2k2F
        XvFH105ghHB+q6C8e1h8lbk6J2h3zbhwUJHYsc+XOyhwEGljNIpw6D+bSm47Vcbu
        ordfv/7bde6vpUtsu7fMUJ4pVgM4KO7FugIsM/hm9qDKk3cP6CEVANM46hpDX/VO
        XxWXPA+3LASmOV87aBluTPPs0ZsfrXzGSYutmYOual1Qzij38wFlnRZzIeVikyXi
        q0HOhLD5f+x/4L6bUzKBxHz+ZGIWiU5OQ4zY8bSjADnZdet7lkgH3+ao4KyGKxiE
        DmobsvQCTr8DCvde21FJuw+t2MnmKy7w8Panlr7vPzZhlzB0B2djiqLOgHzvHvoH
        MAMViUCg1lTTLD0fXNBZGySXMxvjiqKEIyV4+KUDaCXy3F6EJETcrpjM7BbMIB3i
        CsBwGihz/jGzGTAVvC4LO2UKW1+5R235lH5VVpVMNlOhz8WCuXQQR2W4nGGcHiIK
        atfvoX2SQdDrzgHW5GS/esonFpPlrrhjHH2DaMLFwthVdtVVis7yEUhk1RixXhxK
        iwIyQ9EIjdmhvjNKJj2YxmMW8QsliJpqjEpn6kn4UGR/6r47VfQ5E8kaMd3NMo6W
        uXE3lJ7kY5KzD94nisw+YVCGe/tYd36oXHYeDVB7sZ1oUScuF3e98prItUmy6iwL
        pZeQtRZG1lUju+mXLXE+/Xpx2bzOAqMf+Gp/PBsp8J6omoENF25XG6velRB2+klZ
        bNYoFcK1DIlgh2Y1fZuAjACB1XXMkcIT+uv7LSewOaxJYSUvKrsp0eyHffh7hTC2
        +VGs1mlUfdBBImjPH/XReor9US+giSa5f/ltWywW0de1qmDgA/5h/rl9BPwet//T
        rOhIAxgUXBPMIFCvNi1cR/1Ch9L5jevtoOw6rD4yT2iqA3yoqs27VNHUUvY37e3I
        WVutxmMixp350pATVc3P+vcu4ifMfe2DuisNdv8m5t2GYWwSCk2bbDCCAUEGCSqG
        SIb3DQEHAaCCATIEggEuMIIBKjCCASYGCyqGSIb3DQEMCgECoIHvMIHsMFcGCSqG
        SIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAjyvghqQ3lRuAICCAAwDAYIKoZIhvcN
        AgkFADAdBglghkgBZQMEASoEEIvH6ncglIhBJfGqDLO3XsgEgZAsyYAPLixS2maZ
        auCgRFM3jwdXe+PG2cTlf9ao82a+QZEmo1uCfGoM5KLwfWCZ5WwbYxabiXsbzNvz
        ssbETp7Sgxo1fiX7m7LvyQuD+tBjthH+ZaZoZCxvD29F0EQMbhvFtz971gxlCEhV
        Xhhp17vMOPwwOjKrEY/mvcFSdtaMUfXDaO16CejPIx98TaFsKvYxJTAjBgkqhkiG
        9w0BCRUxFgQUqhii/vEpMn1UqFwOyewSWTsGJFswQTAxMA0GCWCGSAFlAwQCAQUA
        BCAI6YWud3PE9ATQhwxyOyRjR2m0v7u0wBgoYlsaQ4pk2gQIMnCRra9CrT4CAggA
        """

    /// The same, with the RC2 and 3DES of older exports (`-legacy`).
    static let legacyPKCS12 = """
        MIIEggIBAzCCBEgGCSqGSIb3DQEHAaCCBDkEggQ1MIIEMTCCAycGCSqGSIb3DQEH
        BqCCAxgwggMUAgEAMIIDDQYJKoZIhvcNAQcBMBwGCiqGSIb3DQEMAQYwDgQIMNc6
        0fGcSRsCAggAgIIC4GKkMJIWp8k7FQrRSl69pFw11PZUFyTLiH+/1viOI+clgGxO
        r7ZZsisnP77tfJ6La+BeGv/49pd6vtlYDWHn4M/Zz2H2ZghXYflPzn2KYWfpA2wh
        2+QhhwRJeEZXGl+NVyCaLAeP1Ea24QiOuvpHhuZ9kFPHpKgBEVwc7ZeXn65kAE1b
        dhdhSKkuVL4jdT9iB5+nEKdCx9zKYqBsjv+/CYd8N1juzuVSQW+/7L4p5afpBz+w
        1/UvbRUbqcnlx6KMh6pVMQdZGnOZMwBZ/egVB4jj4oS1faPNHpkQKvI3eML9gJLG
        Rrjft4SY2UVDysxVDr8Xf7zvatNdAfOkqXorm4FGBtLRIP2qSBmimYD2FbQOPsK+
        YOkTXlQu85cNSZT18JCYdsgMAiCpFdrW1lewyW3tU2JhL6bnbU5Dso8j1+EE3bYI
        H8t8GmYzXng+XsE+QjUJ+uXmUN7zaOaSTioCJNIT6/3vOTZzMnrlloPs6MiP1540
        MlDbKTgEVqzuWkQuza0R8Dkcg39ytdidxgMMSKc+6dLlCuQsBgQugFArarqc+g24
        BvpLYbWjP/rR4xUVmttCSiYxBiR7yDyPBk0xaeFn86vlT+amBwJ8HGSiv4Ca+kdP
        7suDZiYFWGmtb6n+VPAdS7EO8fV+E7E26aqXS+H8kDIMVYwcSRmjGLImdKMJdYq6
        baZWYU+QsYR08cnc9dC9Pg8baqtcB/rZ0YAiR0nM31OF2IFkhBuh2UELKEiO6Aqy
        WvqOXwEyD/vO0Wa7K2ce3obErbAFo2rljksMBs/pOj/nLfQ85vKcNQ1lOJsOryb0
        Pmhh3dRemIYbQay921c0E0M2E5pKAS4Dg+W6YQ8mG2dmINIPa9bLI62x/iJRCQeK
        G4cjzXfo8cpJvRyIpTHk23SwG8hDq/o505MEV9QGT+S2EgjOMaxjW1dsI/GXOhBA
        AZbkvUYLpG9uAomikovfmN9v7ckyRbyaw6r7y/QwggECBgkqhkiG9w0BBwGggfQE
        gfEwge4wgesGCyqGSIb3DQEMCgECoIG0MIGxMBwGCiqGSIb3DQEMAQMwDgQIXAG3
        dudCSGMCAggABIGQAH1klBJKwiMzcMP/cvlT22uKhNrtPq2ZxOI8+S/7vm2FClpf
        yM7w7EFhslq1fMyyobywXIYhnWk2G+2BuSu0zeUGU7YdUfC9L4MzkwztWolbI6pZ
        1MBI5J4N3RLGGNjRtg4dARmgBVO0Ac947ztuetnHFTC7l2uo/xRw7dHiCOiA0ZVk
        6/ijxp3uAhLJ+bEKMSUwIwYJKoZIhvcNAQkVMRYEFKoYov7xKTJ9VKhcDsnsElk7
        BiRbMDEwITAJBgUrDgMCGgUABBQcy/PViMAEJ6F6zF4ZmimY41e02wQIoVuEhrgb
        b7UCAggA
        """
}
