/** Heliograph's events as types; the schemas of the same names explain each field. */

export type PushType =
  | "alert"
  | "background"
  | "location"
  | "voip"
  | "complication"
  | "fileprovider"
  | "mdm"
  | "liveactivity"
  | "pushtotalk"
  | "widgets"
  | "controls";

export type Environment = "production" | "sandbox";

/** 10: at once. 5: by the device's power state. 1: never wakes the device. */
export type Priority = 10 | 5 | 1;

/** Epoch seconds, which no number of milliseconds is by accident: see `epochSeconds`. */
export type EpochSeconds = number & { readonly unit: "seconds" };

export type EpochMilliseconds = number & { readonly unit: "milliseconds" };

/** For an event that is worthless after this time, or must not be sent before it. */
export const epochSeconds = (time: Date): EpochSeconds =>
  Math.floor(time.getTime() / 1000) as EpochSeconds;

/** For an event that is worthless if the device is away: one attempt, no storage. */
export const sendOnce = 0 as EpochSeconds;

export const epochMilliseconds = (time: Date): EpochMilliseconds =>
  time.getTime() as EpochMilliseconds;

interface Common<Payload extends object> {
  /** Equal for every copy of the event: it is what a repetition is known by. */
  readonly id: string;
  readonly payload: Payload;
  readonly environment?: Environment;
  readonly priority?: Priority;
  readonly occurred_at?: Date;
  readonly campaign?: string;
  readonly metadata?: Readonly<Record<string, string>>;
}

/** Either the app, to which the push type's suffix is added, or the APNs topic as it is. */
type Target =
  | { readonly bundle_id: string; readonly topic?: never }
  | { readonly topic: string; readonly bundle_id?: never };

/** One of an event's devices, with fields that replace the event's. */
export interface Recipient {
  readonly device_token: string;
  readonly apns_id?: string;
  readonly collapse_id?: string;
  readonly expiration?: EpochSeconds;
}

/** Either one device, or up to 1000, each of which has its own notification ID. */
type Devices =
  | { readonly device_token: string; readonly apns_id?: string; readonly recipients?: never }
  | {
      readonly recipients: readonly Recipient[];
      readonly device_token?: never;
      readonly apns_id?: never;
    };

/** One notification for one device, or for each of several. */
export type NotificationEvent<Payload extends object = object> = Common<Payload> &
  Target &
  Devices & {
    readonly push_type: PushType;
    readonly expiration?: EpochSeconds;
    readonly collapse_id?: string;
    readonly token_registered_at?: EpochMilliseconds;
    readonly not_before?: EpochSeconds;
  };

/** One update for every subscriber of a channel. */
export interface BroadcastEvent<Payload extends object = object> extends Common<Payload> {
  readonly channel_id: string;
  readonly bundle_id: string;
  readonly expiration: EpochSeconds;
  readonly apns_request_id?: string;
}

export type Event = NotificationEvent | BroadcastEvent;

/** The record's key, a token in lower case: the events of a device, or of a channel, keep their order. */
export const keyOf = (event: Event): string => {
  if ("channel_id" in event) return event.channel_id;
  return event.device_token === undefined ? event.id : event.device_token.toLowerCase();
};
