// Original file: proto/replication.proto

import type { CallerSubPage as _understudy_replication_v1_CallerSubPage, CallerSubPage__Output as _understudy_replication_v1_CallerSubPage__Output } from '../../../understudy/replication/v1/CallerSubPage.js';
import type { FilteredSubPage as _understudy_replication_v1_FilteredSubPage, FilteredSubPage__Output as _understudy_replication_v1_FilteredSubPage__Output } from '../../../understudy/replication/v1/FilteredSubPage.js';

export interface FetchKeysReply {
  'unknown'?: (_understudy_replication_v1_CallerSubPage)[];
  'filtered'?: (_understudy_replication_v1_FilteredSubPage)[];
  'entries'?: (Buffer | Uint8Array | string);
}

export interface FetchKeysReply__Output {
  'unknown': (_understudy_replication_v1_CallerSubPage__Output)[];
  'filtered': (_understudy_replication_v1_FilteredSubPage__Output)[];
  'entries': (Buffer);
}
