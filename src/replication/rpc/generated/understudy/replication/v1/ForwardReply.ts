// Original file: proto/replication.proto

import type { PeerIdentity as _understudy_replication_v1_PeerIdentity, PeerIdentity__Output as _understudy_replication_v1_PeerIdentity__Output } from '../../../understudy/replication/v1/PeerIdentity.js';

export interface ForwardReply {
  'who'?: (_understudy_replication_v1_PeerIdentity | null);
  'payload'?: (Buffer | Uint8Array | string);
}

export interface ForwardReply__Output {
  'who': (_understudy_replication_v1_PeerIdentity__Output | null);
  'payload': (Buffer);
}
