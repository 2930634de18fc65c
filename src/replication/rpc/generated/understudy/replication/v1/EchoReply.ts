// Original file: proto/replication.proto

import type { PeerIdentity as _understudy_replication_v1_PeerIdentity, PeerIdentity__Output as _understudy_replication_v1_PeerIdentity__Output } from '../../../understudy/replication/v1/PeerIdentity.js';
import type { Long } from '@grpc/proto-loader';

export interface EchoReply {
  'who'?: (_understudy_replication_v1_PeerIdentity | null);
  'time_ms'?: (number | string);
  'last_index'?: (number | string | Long);
  'primary_addresses'?: (string)[];
}

export interface EchoReply__Output {
  'who': (_understudy_replication_v1_PeerIdentity__Output | null);
  'time_ms': (number);
  'last_index': (number);
  'primary_addresses': (string)[];
}
