package com.example.producer;

import com.fasterxml.jackson.annotation.JsonProperty;

/** Sent as apns-push-type. */
public enum PushType {
    @JsonProperty("alert") ALERT,
    @JsonProperty("background") BACKGROUND,
    @JsonProperty("location") LOCATION,
    @JsonProperty("voip") VOIP,
    @JsonProperty("complication") COMPLICATION,
    @JsonProperty("fileprovider") FILE_PROVIDER,
    @JsonProperty("mdm") MDM,
    @JsonProperty("liveactivity") LIVE_ACTIVITY,
    @JsonProperty("pushtotalk") PUSH_TO_TALK,
    @JsonProperty("widgets") WIDGETS,
    @JsonProperty("controls") CONTROLS
}
