package com.example.producer;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import com.fasterxml.jackson.databind.annotation.JsonNaming;
import com.fasterxml.jackson.databind.annotation.JsonSerialize;
import com.fasterxml.jackson.databind.ser.std.ToStringSerializer;
import java.time.Instant;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;

/**
 * One notification for one device; {@code schemas/notification-event.v1.schema.json} explains each
 * field. A field that is null is left out: null is not the same.
 *
 * @param id equal for every copy of the event: it is what a repetition is known by
 * @param bundleId the app; excludes {@code topic}
 * @param topic sent as apns-topic as it is; excludes {@code bundleId}
 * @param payload any value that Jackson writes as an object
 * @param expiration epoch seconds: {@link Instant#getEpochSecond()}
 * @param tokenRegisteredAt epoch milliseconds: {@link Instant#toEpochMilli()}
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
@JsonNaming(PropertyNamingStrategies.SnakeCaseStrategy.class)
public record NotificationEvent(
        String id,
        String deviceToken,
        String bundleId,
        String topic,
        PushType pushType,
        Object payload,
        Environment environment,
        Priority priority,
        Long expiration,
        String collapseId,
        String apnsId,
        Long tokenRegisteredAt,
        @JsonSerialize(using = ToStringSerializer.class) Instant occurredAt,
        Map<String, String> metadata)
        implements Event {

    public NotificationEvent {
        Objects.requireNonNull(id);
        Objects.requireNonNull(deviceToken);
        Objects.requireNonNull(pushType);
        Objects.requireNonNull(payload);
        if ((bundleId == null) == (topic == null)) {
            throw new IllegalArgumentException("an event has either a bundle ID or a topic");
        }
    }

    /** An event with what it needs; the {@code with} methods add the rest. */
    public static NotificationEvent forApp(
            String bundleId, PushType pushType, String id, String deviceToken, Object payload) {
        return new NotificationEvent(
                id, deviceToken, bundleId, null, pushType, payload,
                null, null, null, null, null, null, null, null);
    }

    /** An event whose APNs topic is given whole. */
    public static NotificationEvent forTopic(
            String topic, PushType pushType, String id, String deviceToken, Object payload) {
        return new NotificationEvent(
                id, deviceToken, null, topic, pushType, payload,
                null, null, null, null, null, null, null, null);
    }

    public NotificationEvent withExpiration(long epochSeconds) {
        return new NotificationEvent(
                id, deviceToken, bundleId, topic, pushType, payload, environment, priority,
                epochSeconds, collapseId, apnsId, tokenRegisteredAt, occurredAt, metadata);
    }

    @Override
    public String key() {
        return deviceToken.toLowerCase(Locale.ROOT);
    }
}
