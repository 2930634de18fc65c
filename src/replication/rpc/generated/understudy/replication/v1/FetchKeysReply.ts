// Original file: proto/replication.proto

import type { KeyValue as _understudy_replication_v1_KeyValue, KeyValue__Output as _understudy_replication_v1_KeyValue__Output } from '../../../understudy/replication/v1/KeyValue.js';
import type { CallerSubPage as _understudy_replication_v1_CallerSubPage, CallerSubPage__Output as _understudy_replication_v1_CallerSubPage__Output } from '../../../understudy/replication/v1/CallerSubPage.js';
import type { HeldBack as _understudy_replication_v1_HeldBack, HeldBack__Output as _understudy_replication_v1_HeldBack__Output } from '../../../understudy/replication/v1/HeldBack.js';

export interface FetchKeysReply {
  'entries'?: (_understudy_replication_v1_KeyValue)[];
  'unknown'?: (_understudy_replication_v1_CallerSubPage)[];
  'held_back'?: (_understudy_replication_v1_HeldBack)[];
}

export interface FetchKeysReply__Output {
  'entries': (_understudy_replication_v1_KeyValue__Output)[];
  'unknown': (_understudy_replication_v1_CallerSubPage__Output)[];
  'held_back': (_understudy_replication_v1_HeldBack__Output)[];
}
