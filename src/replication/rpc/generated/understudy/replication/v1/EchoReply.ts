// Original file: proto/replication.proto

import type { Who as _understudy_replication_v1_Who, Who__Output as _understudy_replication_v1_Who__Output } from '../../../understudy/replication/v1/Who.js';
import type { Long } from '@grpc/proto-loader';

export interface EchoReply {
  'who'?: (_understudy_replication_v1_Who | null);
  'time_ms'?: (number | string);
  'last_index'?: (number | string | Long);
  'primary_addresses'?: (string)[];
}

export interface EchoReply__Output {
  'who': (_understudy_replication_v1_Who__Output | null);
  'time_ms': (number);
  'last_index': (number);
  'primary_addresses': (string)[];
}
