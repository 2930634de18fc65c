// Original file: proto/replication.proto

import type { CallerSubPage as _understudy_replication_v1_CallerSubPage, CallerSubPage__Output as _understudy_replication_v1_CallerSubPage__Output } from '../../../understudy/replication/v1/CallerSubPage.js';
import type { HeldBack as _understudy_replication_v1_HeldBack, HeldBack__Output as _understudy_replication_v1_HeldBack__Output } from '../../../understudy/replication/v1/HeldBack.js';

export interface FetchKeysReply {
  'unknown'?: (_understudy_replication_v1_CallerSubPage)[];
  'held_back'?: (_understudy_replication_v1_HeldBack)[];
  'entries'?: (Buffer | Uint8Array | string);
}

export interface FetchKeysReply__Output {
  'unknown': (_understudy_replication_v1_CallerSubPage__Output)[];
  'held_back': (_understudy_replication_v1_HeldBack__Output)[];
  'entries': (Buffer);
}
