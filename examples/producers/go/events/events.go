// Package events has Heliograph's events as types. The schemas
// notification-event.v1 and broadcast-event.v1 explain each field.
package events

import (
	"encoding/json"
	"errors"
	"strings"
	"time"
)

// PushType is sent as apns-push-type.
type PushType string

const (
	Alert        PushType = "alert"
	Background   PushType = "background"
	Location     PushType = "location"
	VoIP         PushType = "voip"
	Complication PushType = "complication"
	FileProvider PushType = "fileprovider"
	MDM          PushType = "mdm"
	LiveActivity PushType = "liveactivity"
	PushToTalk   PushType = "pushtotalk"
	Widgets      PushType = "widgets"
	Controls     PushType = "controls"
)

// Environment says which of Apple's environments a token or a channel belongs to.
type Environment string

const (
	Production Environment = "production"
	Sandbox    Environment = "sandbox"
)

// Priority is sent as apns-priority.
type Priority int

const (
	Immediate  Priority = 10
	PowerAware Priority = 5
	NeverWake  Priority = 1
)

// Expiration is in epoch seconds; zero stands for one attempt without storage.
// So the field of an event is a pointer: nil leaves it out.
type Expiration int64

// ExpiresAt is for an event that is worthless after this time.
func ExpiresAt(t time.Time) *Expiration {
	seconds := Expiration(t.Unix())
	return &seconds
}

// SendOnce is for an event that is worthless if the device is away.
func SendOnce() *Expiration { return new(Expiration) }

// Recipient is one of an event's devices, with fields that replace the event's.
type Recipient struct {
	DeviceToken string      `json:"device_token"`
	APNsID      string      `json:"apns_id,omitempty"`
	CollapseID  string      `json:"collapse_id,omitempty"`
	Expiration  *Expiration `json:"expiration,omitempty"`
}

// Notification is for one device or for up to 1000 recipients: it has either
// DeviceToken or Recipients, and either BundleID or Topic.
type Notification[Payload any] struct {
	// ID is equal for every copy of the event: it is what a repetition is known by.
	ID          string      `json:"id"`
	DeviceToken string      `json:"device_token,omitempty"`
	Recipients  []Recipient `json:"recipients,omitempty"`
	BundleID    string      `json:"bundle_id,omitempty"`
	Topic       string      `json:"topic,omitempty"`
	PushType    PushType    `json:"push_type"`
	Payload     Payload     `json:"payload"`
	Environment Environment `json:"environment,omitempty"`
	Priority    Priority    `json:"priority,omitempty"`
	Expiration  *Expiration `json:"expiration,omitempty"`
	CollapseID  string      `json:"collapse_id,omitempty"`
	APNsID      string      `json:"apns_id,omitempty"`
	// TokenRegisteredAt is in epoch milliseconds: time.Time.UnixMilli.
	TokenRegisteredAt int64      `json:"token_registered_at,omitempty"`
	OccurredAt        *time.Time `json:"occurred_at,omitempty"`
	Campaign          string     `json:"campaign,omitempty"`
	// NotBefore is in epoch seconds: time.Time.Unix.
	NotBefore int64             `json:"not_before,omitempty"`
	Metadata  map[string]string `json:"metadata,omitempty"`
}

// Broadcast is for every subscriber of a channel.
type Broadcast[Payload any] struct {
	ID            string            `json:"id"`
	ChannelID     string            `json:"channel_id"`
	BundleID      string            `json:"bundle_id"`
	Payload       Payload           `json:"payload"`
	Expiration    Expiration        `json:"expiration"`
	Environment   Environment       `json:"environment,omitempty"`
	Priority      Priority          `json:"priority,omitempty"`
	APNsRequestID string            `json:"apns_request_id,omitempty"`
	OccurredAt    *time.Time        `json:"occurred_at,omitempty"`
	Campaign      string            `json:"campaign,omitempty"`
	Metadata      map[string]string `json:"metadata,omitempty"`
}

// Record is what goes to Kafka.
type Record struct {
	Topic string
	// Key is the device token in lower case or the channel ID: their events keep their order.
	// For several recipients, it is the event's ID.
	Key   string
	Value []byte
}

// Record makes the event's record for a topic.
func (n Notification[Payload]) Record(topic string) (Record, error) {
	if (n.BundleID == "") == (n.Topic == "") {
		return Record{}, errors.New("an event has either a bundle ID or a topic")
	}
	if (n.DeviceToken == "") == (len(n.Recipients) == 0) {
		return Record{}, errors.New("an event has either a device token or recipients")
	}
	key := strings.ToLower(n.DeviceToken)
	if key == "" {
		key = n.ID
	}
	value, err := json.Marshal(n)
	return Record{Topic: topic, Key: key, Value: value}, err
}

// Record makes the event's record for a topic.
func (b Broadcast[Payload]) Record(topic string) (Record, error) {
	value, err := json.Marshal(b)
	return Record{Topic: topic, Key: b.ChannelID, Value: value}, err
}
