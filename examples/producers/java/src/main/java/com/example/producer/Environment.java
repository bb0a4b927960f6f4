package com.example.producer;

import com.fasterxml.jackson.annotation.JsonProperty;

/** Which of Apple's environments a device token or a channel belongs to. */
public enum Environment {
    @JsonProperty("production") PRODUCTION,
    @JsonProperty("sandbox") SANDBOX
}
