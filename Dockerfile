# One image for all processes. Its commands are `vault`, `api`, `worker`, `console`, `cli` and `health` (deploy/container/strongroom).
# docs/containers.md says how to build and run it.

# An image with Debian 13. Give another one (`--build-arg DEBIAN=…`) to build from a copy of your own.
ARG DEBIAN=docker.io/library/debian:trixie-slim@sha256:d7e12182ce18b85b93007c1dedf31f2d29e01ccf3182cc4017c709b6259bc132

# Bun, as its package on npm has it. npm compares it with the registry's checksum, and nothing else of this stage is kept.
FROM ${DEBIAN} AS bun
# Behind a proxy with an authority of its own: `--build-arg NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt`, with a base
# image that has this authority in /usr/local/share/ca-certificates.
ARG NODE_EXTRA_CA_CERTS
RUN apt-get update \
  && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends ca-certificates npm \
  && npm install --global --no-fund --no-audit bun@1.4.5 \
  && install -m 0755 "$(readlink -f "$(command -v bun)")" /bun

# The packages of bun.lock, without those for development, and without installing scripts of theirs.
FROM ${DEBIAN} AS packages
ARG NODE_EXTRA_CA_CERTS
RUN apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends ca-certificates
COPY --from=bun /bun /usr/local/bin/bun
WORKDIR /opt/strongroom
COPY package.json bun.lock bunfig.toml ./
COPY client/package.json client/
# Types and compilers, which packages name as peers, are for development too.
RUN bun install --frozen-lockfile --production --ignore-scripts \
  && cd node_modules && rm -rf strongroom-client typescript @typescript @types bun-types .bin .cache

FROM ${DEBIAN}
LABEL org.opencontainers.image.title="Strongroom" \
  org.opencontainers.image.description="Self-hosted wallet custody: vault, API, worker, console and commands" \
  org.opencontainers.image.licenses="MIT"
# Each process has a user. An API is run in the vault's group, so that it may open the vault's socket.
RUN groupadd --gid 10001 strongroom-vault \
  && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin strongroom-vault \
  && for each in 10002:api 10003:worker 10004:console 10000:strongroom; do \
    groupadd --gid "${each%:*}" "${each#*:}" \
    && useradd --uid "${each%:*}" --gid "${each%:*}" --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin "${each#*:}"; \
  done \
  && find / -xdev -type f -perm /6000 -exec chmod a-s {} + \
  && install -d -m 0750 -o 10001 -g 10001 /run/strongroom-vault \
  && install -d -m 0700 -o 10001 -g 10001 /var/lib/strongroom-vault
COPY --from=bun /bun /usr/local/bin/bun
COPY --from=packages /opt/strongroom/node_modules /opt/strongroom/node_modules
COPY package.json bunfig.toml tsconfig.json LICENSE /opt/strongroom/
COPY db /opt/strongroom/db
COPY jobs /opt/strongroom/jobs
COPY src /opt/strongroom/src
COPY deploy/container /opt/strongroom/deploy/container
RUN ln -s /opt/strongroom/deploy/container/strongroom /usr/local/bin/strongroom
WORKDIR /opt/strongroom
# Nothing is written at run time, so the root file system may be read-only. A worker's port is for its health check.
ENV BUN_RUNTIME_TRANSPILER_CACHE_PATH=0 HOST=0.0.0.0 WORKER_METRICS_PORT=9101
USER 10000:10000
EXPOSE 3000
# No shell stays between the container and the process, which gets the signals.
ENTRYPOINT ["strongroom"]
CMD ["cli", "--help"]
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s CMD ["strongroom", "health"]
