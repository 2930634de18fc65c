// Original file: proto/replication.proto

import type { PeerIdentity as _understudy_replication_v1_PeerIdentity, PeerIdentity__Output as _understudy_replication_v1_PeerIdentity__Output } from '../../../understudy/replication/v1/PeerIdentity.js';
import type { Long } from '@grpc/proto-loader';

export interface CommonPositionReply {
  'who'?: (_understudy_replication_v1_PeerIdentity | null);
  'common_index'?: (number | string | Long);
  'last_index'?: (number | string | Long);
}

export interface CommonPositionReply__Output {
  'who': (_understudy_replication_v1_PeerIdentity__Output | null);
  'common_index': (number);
  'last_index': (number);
}
