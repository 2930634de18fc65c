# The image of one Understudy server; see docs/how-to/run-in-containers.md. `understudy image context` writes the build context:
# this file and the compiled program. `understudy image build` builds it.
#
# BASE is any glibc system with Node 20 or newer, npm and a shell. `image build --base machine` creates one from the Node of the
# machine, for machines that cannot pull an image.
ARG BASE=node:20-bookworm-slim

# The compiled program runs on every architecture, and its packages contain native code for each. So the build runs without
# emulation, on the architecture of the builder. Builders without BuildKit do not set BUILDPLATFORM.
FROM --platform=${BUILDPLATFORM:-linux} ${BASE} AS build
WORKDIR /opt/understudy
COPY package.json package-lock.jso[n] ./
# Only a checkout has a lock file. Without one, npm would also resolve the packages of the tests.
RUN if [ -e package-lock.json ]; then npm ci --omit=dev --no-audit --no-fund; \
    else npm pkg delete devDependencies overrides && npm install --no-audit --no-fund; fi \
 && rm -f package-lock.json
COPY LICENSE ./
COPY proto proto
COPY dist dist
RUN chmod 755 dist/bundle/main.cjs dist/bundle/container-entrypoint.cjs dist/cli/container/healthcheck.sh

FROM ${BASE}
# What scripts and health checks of labs call. A base that has no apt-get brings these tools itself.
RUN if command -v apt-get >/dev/null; then \
      apt-get update -qq \
   && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends \
        bash bind9-dnsutils bsdextrautils ca-certificates coreutils curl findutils iproute2 jq libc-bin mawk \
        netcat-openbsd openssl wget \
   && (DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends etcd-server \
       || echo "there is no package etcd-server: clusters of several nodes need an etcd of their own") \
   && rm -rf /var/lib/apt/lists/*; \
    fi
LABEL org.opencontainers.image.title="Understudy" \
      org.opencontainers.image.description="An independent simulator of the Vault HTTP API with replication between clusters" \
      org.opencontainers.image.licenses="Apache-2.0"
# Written by hand instead of with useradd, which a minimal base does not have.
RUN echo 'vault:x:8200:8200:vault:/home/vault:/bin/sh' >> /etc/passwd \
 && echo 'vault:x:8200:' >> /etc/group \
 && mkdir -p /home/vault /vault/config /vault/file /vault/data /vault/logs /vault/secrets \
 && chown -R 8200:8200 /home/vault /vault
COPY --from=build /opt/understudy /opt/understudy
# `vault` and the entrypoint's second name are compatibility links: compose files and test suites call them so.
RUN ln -s /opt/understudy/dist/bundle/main.cjs /usr/local/bin/understudy \
 && ln -s /opt/understudy/dist/cli/container/healthcheck.sh /usr/local/bin/understudy-health \
 && ln -s /opt/understudy/dist/bundle/main.cjs /usr/local/bin/vault \
 && ln -s /opt/understudy/dist/bundle/main.cjs /bin/vault \
 && ln -s /opt/understudy/dist/bundle/container-entrypoint.cjs /usr/local/bin/understudy-entrypoint \
 && ln -sf /opt/understudy/dist/bundle/container-entrypoint.cjs /usr/local/bin/docker-entrypoint.sh
# Saves the code that Node compiled, with which commands and servers start faster.
RUN understudy version >/dev/null \
 && { understudy server -dev >/dev/null & pid=$!; } \
 && until understudy-health; do kill -0 "$pid" && sleep 0.1 || exit 1; done \
 && kill "$pid" && wait "$pid" \
 && rm -f /tmp/understudy-addresses* \
 && chmod -R a+rX /opt/understudy/dist/bundle/cache
# MALLOC_*: memory of large bodies goes back to the system when it is freed.
ENV NODE_ENV=production \
    UNDERSTUDY_ADDRESS_FILE=/tmp/understudy-addresses \
    MALLOC_MMAP_THRESHOLD_=131072 \
    MALLOC_TRIM_THRESHOLD_=131072 \
    MALLOC_TOP_PAD_=0
EXPOSE 8200 8201 8202
# The check itself waits between one time and the next. On a busy machine a server is slow, not ill: each check has time, and
# until the first one has passed none counts for a minute.
HEALTHCHECK --interval=1s --timeout=30s --start-period=60s --retries=3 CMD ["understudy-health"]
# No USER: the entrypoint begins as root to mend the ownership of volumes, then becomes `vault` for good.
ENTRYPOINT ["understudy-entrypoint"]
CMD ["server", "-dev"]
