package com.example.producer;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import com.fasterxml.jackson.databind.annotation.JsonNaming;
import java.time.Instant;
import java.util.Objects;

/**
 * One of an event's devices, with fields that replace the event's. A field that is null is left
 * out: null is not the same.
 *
 * @param expiration epoch seconds: {@link Instant#getEpochSecond()}
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
@JsonNaming(PropertyNamingStrategies.SnakeCaseStrategy.class)
public record Recipient(String deviceToken, String apnsId, String collapseId, Long expiration) {

    public Recipient {
        Objects.requireNonNull(deviceToken);
    }

    /** A device without fields of its own. */
    public Recipient(String deviceToken) {
        this(deviceToken, null, null, null);
    }
}
