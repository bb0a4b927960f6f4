package com.example.producer;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import com.fasterxml.jackson.databind.annotation.JsonNaming;
import com.fasterxml.jackson.databind.annotation.JsonSerialize;
import com.fasterxml.jackson.databind.ser.std.ToStringSerializer;
import java.time.Instant;
import java.util.Map;
import java.util.Objects;

/**
 * One update for every subscriber of a channel; {@code schemas/broadcast-event.v1.schema.json}
 * explains each field.
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
@JsonNaming(PropertyNamingStrategies.SnakeCaseStrategy.class)
public record BroadcastEvent(
        String id,
        String channelId,
        String bundleId,
        Object payload,
        long expiration,
        Environment environment,
        Priority priority,
        String apnsRequestId,
        @JsonSerialize(using = ToStringSerializer.class) Instant occurredAt,
        String campaign,
        Map<String, String> metadata)
        implements Event {

    public BroadcastEvent {
        Objects.requireNonNull(id);
        Objects.requireNonNull(channelId);
        Objects.requireNonNull(bundleId);
        Objects.requireNonNull(payload);
    }

    @Override
    public String key() {
        return channelId;
    }
}
