// Original file: proto/replication.proto

import type { Who as _understudy_replication_v1_Who, Who__Output as _understudy_replication_v1_Who__Output } from '../../../understudy/replication/v1/Who.js';
import type { Long } from '@grpc/proto-loader';

export interface StreamAccepted {
  'who'?: (_understudy_replication_v1_Who | null);
  'last_index'?: (number | string | Long);
}

export interface StreamAccepted__Output {
  'who': (_understudy_replication_v1_Who__Output | null);
  'last_index': (number);
}
