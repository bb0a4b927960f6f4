package com.example.producer;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import com.fasterxml.jackson.databind.annotation.JsonNaming;
import com.fasterxml.jackson.databind.annotation.JsonSerialize;
import com.fasterxml.jackson.databind.ser.std.ToStringSerializer;
import java.time.Instant;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;

/**
 * One notification for one device, or for each of several; {@code
 * schemas/notification-event.v1.schema.json} explains each field. A field that is null is left out:
 * null is not the same.
 *
 * @param id equal for every copy of the event: it is what a repetition is known by
 * @param deviceToken the device; excludes {@code recipients}
 * @param recipients up to 1000 devices; excludes {@code deviceToken} and {@code apnsId}
 * @param bundleId the app; excludes {@code topic}
 * @param topic sent as apns-topic as it is; excludes {@code bundleId}
 * @param payload any value that Jackson writes as an object
 * @param expiration epoch seconds: {@link Instant#getEpochSecond()}
 * @param tokenRegisteredAt epoch milliseconds: {@link Instant#toEpochMilli()}
 * @param notBefore epoch seconds
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
@JsonNaming(PropertyNamingStrategies.SnakeCaseStrategy.class)
public record NotificationEvent(
        String id,
        String deviceToken,
        List<Recipient> recipients,
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
        String campaign,
        Long notBefore,
        Map<String, String> metadata)
        implements Event {

    public NotificationEvent {
        Objects.requireNonNull(id);
        Objects.requireNonNull(pushType);
        Objects.requireNonNull(payload);
        if ((bundleId == null) == (topic == null)) {
            throw new IllegalArgumentException("an event has either a bundle ID or a topic");
        }
        if ((deviceToken == null) == (recipients == null)) {
            throw new IllegalArgumentException("an event has either a device token or recipients");
        }
    }

    /** An event with what it needs; the {@code with} methods add the rest. */
    public static NotificationEvent forApp(
            String bundleId, PushType pushType, String id, String deviceToken, Object payload) {
        return new NotificationEvent(
                id, deviceToken, null, bundleId, null, pushType, payload,
                null, null, null, null, null, null, null, null, null, null);
    }

    /** The same for several devices. */
    public static NotificationEvent forRecipients(
            String bundleId,
            PushType pushType,
            String id,
            List<Recipient> recipients,
            Object payload) {
        return new NotificationEvent(
                id, null, recipients, bundleId, null, pushType, payload,
                null, null, null, null, null, null, null, null, null, null);
    }

    /** An event whose APNs topic is given whole. */
    public static NotificationEvent forTopic(
            String topic, PushType pushType, String id, String deviceToken, Object payload) {
        return new NotificationEvent(
                id, deviceToken, null, null, topic, pushType, payload,
                null, null, null, null, null, null, null, null, null, null);
    }

    public NotificationEvent withExpiration(long epochSeconds) {
        return new NotificationEvent(
                id, deviceToken, recipients, bundleId, topic, pushType, payload, environment,
                priority, epochSeconds, collapseId, apnsId, tokenRegisteredAt, occurredAt, campaign,
                notBefore, metadata);
    }

    public NotificationEvent withCampaign(String name, long notBeforeEpochSeconds) {
        return new NotificationEvent(
                id, deviceToken, recipients, bundleId, topic, pushType, payload, environment,
                priority, expiration, collapseId, apnsId, tokenRegisteredAt, occurredAt, name,
                notBeforeEpochSeconds, metadata);
    }

    @Override
    public String key() {
        return deviceToken == null ? id : deviceToken.toLowerCase(Locale.ROOT);
    }
}
