// Original file: proto/replication.proto

import type { PeerIdentity as _understudy_replication_v1_PeerIdentity, PeerIdentity__Output as _understudy_replication_v1_PeerIdentity__Output } from '../../../understudy/replication/v1/PeerIdentity.js';

export interface PingRequest {
  'who'?: (_understudy_replication_v1_PeerIdentity | null);
}

export interface PingRequest__Output {
  'who': (_understudy_replication_v1_PeerIdentity__Output | null);
}
