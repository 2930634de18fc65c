import { fileURLToPath } from 'node:url'
import { loadPackageDefinition } from '@grpc/grpc-js'
import { loadSync } from '@grpc/proto-loader'
import type { ProtoGrpcType } from './generated/replication.js'

/**
 * The gRPC contract between clusters, loaded from `proto/replication.proto`. The options match those of `npm run
 * proto`.
 */
const definition = loadSync(fileURLToPath(new URL('../../../proto/replication.proto', import.meta.url)), {
  keepCase: true,
  longs: Number,
  bytes: Buffer,
  defaults: true,
  oneofs: true,
})

const loaded = loadPackageDefinition(definition) as unknown as ProtoGrpcType

/** Constructor of gRPC clients. Servers implement its `service`. */
export const ReplicationService = loaded.understudy.replication.v1.Replication
