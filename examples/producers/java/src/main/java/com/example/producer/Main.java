package com.example.producer;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Sends five events to the cluster that the first argument names, or prints topic, key and value,
 * one record a line.
 */
public final class Main {
    private static final JsonMapper JSON = new JsonMapper();
    private static final String DEVICE =
            "00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0";
    private static final String OTHER_DEVICE =
            "740f4707bebcf74f9b7c25d48e3358945f6aa01da5ddb387462c7eaf61bb78ad";
    private static final String APP = "com.example.MyApp";

    /** An event, and the topic that it goes to. */
    record Addressed(String topic, Event event) {}

    // Payloads of this app; keys of Apple's have names of their own.
    record Alert(String title, String body) {}

    record AlertAps(Alert alert, String sound) {}

    record Shipped(AlertAps aps, int order) {}

    record NewsAps(Alert alert) {}

    record News(NewsAps aps) {}

    record BackgroundAps(@JsonProperty("content-available") int contentAvailable) {}

    record Refresh(BackgroundAps aps) {}

    record Call(String from, @JsonProperty("has_video") boolean hasVideo) {}

    record Ring(Call call) {}

    record Match(String score) {}

    record MatchAps(
            String event, long timestamp, @JsonProperty("content-state") Match contentState) {}

    record Goal(MatchAps aps) {}

    static List<Addressed> samples() {
        Instant occurredAt = Instant.now();
        Map<String, String> metadata = Map.of("tenant", "a");
        String identifier = "123e4567-e89b-12d3-a456-426614174000";
        Event shipped =
                new NotificationEvent(
                        "order-4711-shipped",
                        DEVICE,
                        null,
                        APP,
                        null,
                        PushType.ALERT,
                        new Shipped(
                                new AlertAps(
                                        new Alert("Shipped", "Your parcel is on its way."),
                                        "default"),
                                4711),
                        Environment.PRODUCTION,
                        Priority.IMMEDIATE,
                        occurredAt.plus(Duration.ofDays(1)).getEpochSecond(),
                        "order-4711",
                        identifier,
                        Instant.parse("2025-10-09T08:53:20Z").toEpochMilli(),
                        occurredAt,
                        null,
                        null,
                        metadata);
        Event refresh =
                NotificationEvent.forApp(
                        APP,
                        PushType.BACKGROUND,
                        "order-4711-refresh",
                        DEVICE,
                        new Refresh(new BackgroundAps(1)));
        Event call =
                NotificationEvent.forTopic(
                                APP + ".voip",
                                PushType.VOIP,
                                "call-17",
                                DEVICE.toUpperCase(Locale.ROOT),
                                new Ring(new Call("Zoë", false)))
                        .withExpiration(Event.SEND_ONCE);
        Event news =
                NotificationEvent.forRecipients(
                                APP,
                                PushType.ALERT,
                                "news-88",
                                List.of(
                                        new Recipient(DEVICE),
                                        new Recipient(OTHER_DEVICE, null, "news", null)),
                                new News(new NewsAps(new Alert("News", "The bridge is open."))))
                        .withCampaign(
                                "bridge-opening",
                                Instant.parse("2025-10-09T08:53:20Z").getEpochSecond());
        Event goal =
                new BroadcastEvent(
                        "match-4711-goal-3",
                        "dHN0LXNyY2gtY2hubA==",
                        APP,
                        new Goal(new MatchAps("update", 1790000000, new Match("2:1"))),
                        Event.SEND_ONCE,
                        Environment.PRODUCTION,
                        Priority.IMMEDIATE,
                        identifier,
                        occurredAt,
                        "match-4711",
                        metadata);
        return List.of(
                new Addressed("notifications", shipped),
                new Addressed("notifications", refresh),
                new Addressed("notifications", call),
                new Addressed("notifications", news),
                new Addressed("broadcasts", goal));
    }

    /** Returns when Kafka has all of them; throws where it refuses one. */
    static void send(String bootstrapServers, List<Addressed> records)
            throws JsonProcessingException, ExecutionException, InterruptedException {
        Properties settings = new Properties();
        settings.put(ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrapServers);
        // Both are defaults since Kafka 3.0: an acknowledged event is not lost, and is there once.
        settings.put(ProducerConfig.ACKS_CONFIG, "all");
        settings.put(ProducerConfig.ENABLE_IDEMPOTENCE_CONFIG, true);
        try (var producer =
                new KafkaProducer<>(settings, new StringSerializer(), new ByteArraySerializer())) {
            List<Future<?>> written = new ArrayList<>();
            for (Addressed record : records) {
                byte[] value = JSON.writeValueAsBytes(record.event());
                written.add(
                        producer.send(
                                new ProducerRecord<>(record.topic(), record.event().key(), value)));
            }
            for (Future<?> future : written) {
                future.get();
            }
        }
    }

    public static void main(String[] arguments) throws Exception {
        if (arguments.length > 0) {
            send(arguments[0], samples());
            return;
        }
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        for (Addressed record : samples()) {
            String value = JSON.writeValueAsString(record.event());
            out.printf("%s\t%s\t%s%n", record.topic(), record.event().key(), value);
        }
    }

    private Main() {}
}
