FROM golang:1.26 AS build
WORKDIR /src
COPY . .
RUN make build && mkdir /empty

FROM scratch
COPY --from=build --chown=10001:10001 /empty /data
COPY --from=build /src/bin/quarry /quarry
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
ENV QUARRY_HOME=/data
VOLUME /data
EXPOSE 8080 2222
USER 10001:10001
ENTRYPOINT ["/quarry"]
CMD ["serve", "--json", "--http", ":8080", "--ssh", ":2222", "--ssh-keys", "/config/visitors.keys"]
