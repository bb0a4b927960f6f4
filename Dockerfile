# syntax=docker/dockerfile:1
# docker build -t heliograph .                       the service
# docker build -t heliograph-lab --target lab .      the simulator and the demo, not for production
#
# Built on Debian 12, because the programs run on Debian 12 and 13; the image is Debian 13 (decision
# 0040). scripts/check-image builds the same image from this file without Docker, and starts it.
# scripts/pin-images pins the base images by digest.

ARG SWIFT_IMAGE=swift:6.3.1-bookworm
ARG DEBIAN_IMAGE=debian:trixie-slim

FROM ${SWIFT_IMAGE} AS build
# Debian's stable release changes versions only for security fixes, and drops the old ones.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends \
        libcurl4-openssl-dev libnghttp2-dev librdkafka-dev libre2-dev libsimdjson-dev libssl-dev \
        libyaml-dev pkg-config \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY Package.swift ./
# Package.swift names the targets of Benchmarks and Tests, so their folders are needed; none is built.
COPY Benchmarks Benchmarks
COPY Tests Tests
# Schemas are embedded in the programs.
COPY schemas schemas
COPY Sources Sources
COPY scripts/build scripts/build
# The output of `heliograph --version`; scripts/version reads it from git.
ARG HELIOGRAPH_VERSION=0.0.0-dev
# Nothing is downloaded from here on: the build needs only the toolchain and Debian's libraries.
# RE2 is linked in, and simdjson goes with the programs; so do their licences.
RUN --network=none scripts/build heliograph \
    && mkdir -p /out \
    && strip -o /out/heliograph .build/shipped/release/heliograph \
    && cp .build/shipped/release/../lib/heliograph/libsimdjson.so.14 /out/libsimdjson.so.14 \
    && cp /usr/share/doc/libre2-9/copyright /out/re2 \
    && cp /usr/share/doc/libsimdjson14/copyright /out/simdjson

FROM build AS build-lab
ARG HELIOGRAPH_VERSION=0.0.0-dev
RUN --network=none scripts/build heliograph-lab \
    && strip -o /out/heliograph-lab .build/shipped/release/heliograph-lab

FROM ${DEBIAN_IMAGE} AS runtime
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends \
        ca-certificates libcurl4t64 libnghttp2-14 librdkafka1 libssl3t64 libstdc++6 libyaml-0-2 \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /out/libsimdjson.so.14 /usr/local/lib/heliograph/libsimdjson.so.14
COPY --from=build /out/re2 /usr/share/doc/heliograph/re2
COPY --from=build /out/simdjson /usr/share/doc/heliograph/simdjson
# A crash report would contain memory contents, and a stripped program has no symbols for it. The
# cause of a crash is printed anyway.
ENV SWIFT_BACKTRACE=enable=no
# Numeric, so that Kubernetes can check that it is not root; the user need not exist.
USER 65532:65532

FROM runtime AS lab
ARG HELIOGRAPH_VERSION=0.0.0-dev
COPY --from=build-lab /out/heliograph-lab /usr/local/bin/heliograph-lab
WORKDIR /usr/share/heliograph
COPY examples examples
# For the simulator's key and CA: a new volume mounted here gets this owner.
USER 0:0
RUN install --directory --owner=65532 --group=65532 /shared
USER 65532:65532
LABEL org.opencontainers.image.title="heliograph-lab" \
      org.opencontainers.image.description="A simulated APNs, a load producer and the demo" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${HELIOGRAPH_VERSION}"
ENTRYPOINT ["heliograph-lab"]
CMD ["demo"]

FROM runtime AS service
ARG HELIOGRAPH_VERSION=0.0.0-dev
ARG REVISION=unknown
ARG CREATED=unknown
ARG SOURCE=unknown
LABEL org.opencontainers.image.title="heliograph" \
      org.opencontainers.image.description="Push notifications from Kafka to APNs" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${HELIOGRAPH_VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.created="${CREATED}" \
      org.opencontainers.image.source="${SOURCE}" \
      org.opencontainers.image.base.name="docker.io/library/debian:trixie-slim"
COPY --from=build /out/heliograph /usr/local/bin/heliograph
# For each command that runs in a container, not only for the service.
ENV HELIOGRAPH_CONFIG=/etc/heliograph/heliograph.yaml
EXPOSE 9464
# If you change admin.port, pass --url. Kubernetes ignores this and uses its own probes.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
    CMD ["heliograph", "health"]
ENTRYPOINT ["heliograph"]
CMD ["run"]
