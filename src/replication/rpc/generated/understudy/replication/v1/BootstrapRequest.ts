// Original file: proto/replication.proto

import type { Who as _understudy_replication_v1_Who, Who__Output as _understudy_replication_v1_Who__Output } from '../../../understudy/replication/v1/Who.js';

export interface BootstrapRequest {
  'who'?: (_understudy_replication_v1_Who | null);
  'wants_dev_root'?: (boolean);
}

export interface BootstrapRequest__Output {
  'who': (_understudy_replication_v1_Who__Output | null);
  'wants_dev_root': (boolean);
}
