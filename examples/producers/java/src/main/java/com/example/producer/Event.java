package com.example.producer;

import com.fasterxml.jackson.annotation.JsonIgnore;

/** What a record of one of Heliograph's sources holds. */
public sealed interface Event permits NotificationEvent, BroadcastEvent {
    /** One attempt, and nothing is stored for a device that is away. */
    long SEND_ONCE = 0;

    /** The record's key, a token in lower case: the events of a device, or of a channel, keep their order. */
    @JsonIgnore
    String key();
}
