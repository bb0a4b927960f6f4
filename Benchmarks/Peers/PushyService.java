import com.eatthepath.pushy.apns.ApnsClient;
import com.eatthepath.pushy.apns.ApnsClientBuilder;
import com.eatthepath.pushy.apns.DeliveryPriority;
import com.eatthepath.pushy.apns.PushNotificationResponse;
import com.eatthepath.pushy.apns.PushType;
import com.eatthepath.pushy.apns.auth.ApnsSigningKey;
import com.eatthepath.pushy.apns.util.SimpleApnsPushNotification;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.nio.charset.StandardCharsets;
import java.security.KeyPairGenerator;
import java.security.interfaces.ECPrivateKey;
import java.security.spec.ECGenParameterSpec;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Reads events from Kafka, sends them to APNs with Pushy, and writes an outcome of each to Kafka.
 *
 * <p>PushyService SERVERS SOURCE RESULTS GROUP APNS_PORT CA_FILE
 *
 * <p>Offsets are committed after the outcomes of all records before them are acknowledged. The next
 * records are read while answers to earlier ones are outstanding.
 */
public final class PushyService {
    /** Twice the streams of a connection keep it busy. */
    private static final int IN_FLIGHT = 2000;

    private static final ObjectMapper JSON = new ObjectMapper();

    /** The records of one poll, and where the group continues once they have all ended. */
    private record Batch(Map<TopicPartition, OffsetAndMetadata> next, AtomicInteger open) {}

    private record Event(String id, String token, UUID apnsId) {}

    private final ArrayDeque<Batch> batches = new ArrayDeque<>();
    private final Semaphore room = new Semaphore(IN_FLIGHT);
    private final KafkaConsumer<byte[], byte[]> consumer;
    private final KafkaProducer<byte[], byte[]> producer;
    private final ApnsClient apns;
    private final String results;

    private PushyService(String servers, String results, String group, int port, File authority)
            throws Exception {
        this.results = results;
        consumer = new KafkaConsumer<>(
                Map.of(
                        "bootstrap.servers", servers,
                        "group.id", group,
                        "enable.auto.commit", false,
                        "auto.offset.reset", "earliest",
                        "max.poll.records", 2000),
                new ByteArrayDeserializer(),
                new ByteArrayDeserializer());
        producer = new KafkaProducer<>(
                Map.of(
                        "bootstrap.servers", servers,
                        "acks", "all",
                        "linger.ms", 20,
                        "batch.size", 131072,
                        "compression.type", "lz4"),
                new ByteArraySerializer(),
                new ByteArraySerializer());
        KeyPairGenerator keys = KeyPairGenerator.getInstance("EC");
        keys.initialize(new ECGenParameterSpec("secp256r1"));
        ECPrivateKey key = (ECPrivateKey) keys.generateKeyPair().getPrivate();
        apns = new ApnsClientBuilder()
                .setApnsServer("localhost", port)
                .setTrustedServerCertificateChain(authority)
                .setSigningKey(new ApnsSigningKey("ABC123DEFG", "DEF123GHIJ", key))
                .build();
    }

    private void run(String source) throws Exception {
        consumer.subscribe(List.of(source));
        while (true) {
            var records = consumer.poll(Duration.ofMillis(batches.isEmpty() ? 200 : 1));
            if (!records.isEmpty()) {
                var batch = new Batch(new HashMap<>(), new AtomicInteger(records.count()));
                for (var record : records) {
                    batch.next.put(
                            new TopicPartition(record.topic(), record.partition()),
                            new OffsetAndMetadata(record.offset() + 1));
                    send(record, batch);
                }
                batches.add(batch);
            }
            commit();
        }
    }

    private void send(ConsumerRecord<byte[], byte[]> record, Batch batch) throws Exception {
        JsonNode text = JSON.readTree(record.value());
        String id = text.get("id").asText();
        String token = text.get("device_token").asText();
        // The same event has the same identifier when it is sent again.
        UUID apnsId = UUID.nameUUIDFromBytes((id + token).getBytes(StandardCharsets.UTF_8));
        var event = new Event(id, token, apnsId);
        var notification = new SimpleApnsPushNotification(
                token,
                text.get("bundle_id").asText(),
                JSON.writeValueAsString(text.get("payload")),
                null,
                DeliveryPriority.IMMEDIATE,
                PushType.ALERT,
                null,
                apnsId);
        room.acquire();
        apns.sendNotification(notification).whenComplete((answer, error) -> {
            room.release();
            publish(event, answer, error, batch);
        });
    }

    private void publish(
            Event event, PushNotificationResponse<?> answer, Throwable error, Batch batch) {
        var outcome = JSON.createObjectNode();
        outcome.put("event_id", event.id());
        outcome.put("device_token", event.token());
        outcome.put("apns_id", event.apnsId().toString());
        outcome.put("outcome", answer != null && answer.isAccepted() ? "accepted" : "rejected");
        if (error != null) outcome.put("reason", error.toString());
        if (answer != null) answer.getRejectionReason().ifPresent(r -> outcome.put("reason", r));
        outcome.put("completed_at", Instant.now().toString());
        try {
            byte[] key = event.token().getBytes(StandardCharsets.UTF_8);
            producer.send(
                    new ProducerRecord<>(results, key, JSON.writeValueAsBytes(outcome)),
                    (written, failure) -> {
                        if (failure != null) fail(failure);
                        batch.open.decrementAndGet();
                    });
        } catch (JsonProcessingException impossible) {
            fail(impossible);
        }
    }

    /** Nothing is committed past an outcome that was not written. */
    private static void fail(Exception cause) {
        cause.printStackTrace();
        Runtime.getRuntime().halt(1);
    }

    private void commit() {
        Map<TopicPartition, OffsetAndMetadata> ended = new HashMap<>();
        while (!batches.isEmpty() && batches.peek().open.get() == 0) {
            ended.putAll(batches.poll().next);
        }
        if (!ended.isEmpty()) consumer.commitAsync(ended, null);
    }

    public static void main(String[] words) throws Exception {
        int port = Integer.parseInt(words[4]);
        new PushyService(words[0], words[2], words[3], port, new File(words[5])).run(words[1]);
    }
}
