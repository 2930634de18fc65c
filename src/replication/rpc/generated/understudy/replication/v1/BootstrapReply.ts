// Original file: proto/replication.proto

import type { PeerIdentity as _understudy_replication_v1_PeerIdentity, PeerIdentity__Output as _understudy_replication_v1_PeerIdentity__Output } from '../../../understudy/replication/v1/PeerIdentity.js';
import type { KeyValue as _understudy_replication_v1_KeyValue, KeyValue__Output as _understudy_replication_v1_KeyValue__Output } from '../../../understudy/replication/v1/KeyValue.js';

export interface BootstrapReply {
  'who'?: (_understudy_replication_v1_PeerIdentity | null);
  'root_key'?: (Buffer | Uint8Array | string);
  'records'?: (_understudy_replication_v1_KeyValue)[];
  'extra'?: (string);
}

export interface BootstrapReply__Output {
  'who': (_understudy_replication_v1_PeerIdentity__Output | null);
  'root_key': (Buffer);
  'records': (_understudy_replication_v1_KeyValue__Output)[];
  'extra': (string);
}
