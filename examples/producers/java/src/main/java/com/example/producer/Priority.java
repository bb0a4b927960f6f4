package com.example.producer;

import com.fasterxml.jackson.annotation.JsonValue;

/** Sent as apns-priority. */
public enum Priority {
    IMMEDIATE(10),
    POWER_AWARE(5),
    NEVER_WAKE(1);

    private final int value;

    Priority(int value) {
        this.value = value;
    }

    @JsonValue
    public int value() {
        return value;
    }
}
