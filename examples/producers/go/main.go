// Command producer prints five events: topic, key and value, one record a line.
//
// To send them, give publish the client of your choice; README.md has one.
package main

import (
	"context"
	"fmt"
	"log"
	"strings"
	"time"

	"example.com/producer/events"
)

// Payloads of this app.
type (
	alert struct {
		Title string `json:"title"`
		Body  string `json:"body"`
	}
	alertAPS struct {
		Alert alert  `json:"alert"`
		Sound string `json:"sound"`
	}
	shipped struct {
		APS   alertAPS `json:"aps"`
		Order int      `json:"order"`
	}
	newsAPS struct {
		Alert alert `json:"alert"`
	}
	news struct {
		APS newsAPS `json:"aps"`
	}
	backgroundAPS struct {
		ContentAvailable int `json:"content-available"`
	}
	refresh struct {
		APS backgroundAPS `json:"aps"`
	}
	call struct {
		From     string `json:"from"`
		HasVideo bool   `json:"has_video"`
	}
	ring struct {
		Call call `json:"call"`
	}
	match struct {
		Score string `json:"score"`
	}
	matchAPS struct {
		Event        string `json:"event"`
		Timestamp    int64  `json:"timestamp"`
		ContentState match  `json:"content-state"`
	}
	goal struct {
		APS matchAPS `json:"aps"`
	}
)

const (
	device      = "00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0"
	otherDevice = "740f4707bebcf74f9b7c25d48e3358945f6aa01da5ddb387462c7eaf61bb78ad"
	app         = "com.example.MyApp"
)

// sender writes a record, and returns when Kafka has it.
type sender func(context.Context, events.Record) error

func publish(ctx context.Context, send sender) error {
	occurredAt := time.Now()
	notifications := []interface {
		Record(topic string) (events.Record, error)
	}{
		events.Notification[shipped]{
			ID:          "order-4711-shipped",
			DeviceToken: device,
			BundleID:    app,
			PushType:    events.Alert,
			Payload: shipped{
				APS: alertAPS{
					Alert: alert{Title: "Shipped", Body: "Your parcel is on its way."},
					Sound: "default",
				},
				Order: 4711,
			},
			Environment:       events.Production,
			Priority:          events.Immediate,
			Expiration:        events.ExpiresAt(occurredAt.AddDate(0, 0, 1)),
			CollapseID:        "order-4711",
			APNsID:            "123e4567-e89b-12d3-a456-426614174000",
			TokenRegisteredAt: time.Date(2025, 10, 9, 8, 53, 20, 0, time.UTC).UnixMilli(),
			OccurredAt:        &occurredAt,
			Metadata:          map[string]string{"tenant": "a"},
		},
		events.Notification[refresh]{
			ID:          "order-4711-refresh",
			DeviceToken: device,
			BundleID:    app,
			PushType:    events.Background,
			Payload:     refresh{APS: backgroundAPS{ContentAvailable: 1}},
		},
		events.Notification[ring]{
			ID:          "call-17",
			DeviceToken: strings.ToUpper(device),
			Topic:       app + ".voip",
			PushType:    events.VoIP,
			Payload:     ring{Call: call{From: "Zoë"}},
			Expiration:  events.SendOnce(),
		},
		events.Notification[news]{
			ID: "news-88",
			Recipients: []events.Recipient{
				{DeviceToken: device},
				{DeviceToken: otherDevice, CollapseID: "news"},
			},
			BundleID: app,
			PushType: events.Alert,
			Payload: news{
				APS: newsAPS{Alert: alert{Title: "News", Body: "The bridge is open."}},
			},
			Campaign:  "bridge-opening",
			NotBefore: time.Date(2025, 10, 9, 8, 53, 20, 0, time.UTC).Unix(),
		},
	}
	for _, event := range notifications {
		if err := sendTo(ctx, "notifications", event, send); err != nil {
			return err
		}
	}
	scored := events.Broadcast[goal]{
		ID:        "match-4711-goal-3",
		ChannelID: "dHN0LXNyY2gtY2hubA==",
		BundleID:  app,
		Payload: goal{APS: matchAPS{
			Event: "update", Timestamp: 1790000000, ContentState: match{Score: "2:1"},
		}},
		Expiration:    *events.SendOnce(),
		Environment:   events.Production,
		Priority:      events.Immediate,
		APNsRequestID: "123e4567-e89b-12d3-a456-426614174000",
		OccurredAt:    &occurredAt,
		Campaign:      "match-4711",
		Metadata:      map[string]string{"tenant": "a"},
	}
	return sendTo(ctx, "broadcasts", scored, send)
}

func sendTo(
	ctx context.Context,
	topic string,
	event interface {
		Record(topic string) (events.Record, error)
	},
	send sender,
) error {
	record, err := event.Record(topic)
	if err != nil {
		return err
	}
	return send(ctx, record)
}

func main() {
	printed := func(_ context.Context, record events.Record) error {
		_, err := fmt.Printf("%s\t%s\t%s\n", record.Topic, record.Key, record.Value)
		return err
	}
	if err := publish(context.Background(), printed); err != nil {
		log.Fatal(err)
	}
}
