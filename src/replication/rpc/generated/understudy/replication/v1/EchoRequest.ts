// Original file: proto/replication.proto

import type { PeerIdentity as _understudy_replication_v1_PeerIdentity, PeerIdentity__Output as _understudy_replication_v1_PeerIdentity__Output } from '../../../understudy/replication/v1/PeerIdentity.js';
import type { Long } from '@grpc/proto-loader';

export interface EchoRequest {
  'who'?: (_understudy_replication_v1_PeerIdentity | null);
  'sent_at_ms'?: (number | string);
  'applied_index'?: (number | string | Long);
  'last_duration_ms'?: (number | string);
  'clock_skew_ms'?: (number | string);
  'canary_age_ms'?: (number | string);
  'state'?: (string);
}

export interface EchoRequest__Output {
  'who': (_understudy_replication_v1_PeerIdentity__Output | null);
  'sent_at_ms': (number);
  'applied_index': (number);
  'last_duration_ms': (number);
  'clock_skew_ms': (number);
  'canary_age_ms': (number);
  'state': (string);
}
