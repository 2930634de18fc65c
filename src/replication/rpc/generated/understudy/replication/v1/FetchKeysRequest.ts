// Original file: proto/replication.proto

import type { PeerIdentity as _understudy_replication_v1_PeerIdentity, PeerIdentity__Output as _understudy_replication_v1_PeerIdentity__Output } from '../../../understudy/replication/v1/PeerIdentity.js';
import type { TreeName as _understudy_replication_v1_TreeName, TreeName__Output as _understudy_replication_v1_TreeName__Output } from '../../../understudy/replication/v1/TreeName.js';
import type { CallerSubPage as _understudy_replication_v1_CallerSubPage, CallerSubPage__Output as _understudy_replication_v1_CallerSubPage__Output } from '../../../understudy/replication/v1/CallerSubPage.js';

export interface FetchKeysRequest {
  'who'?: (_understudy_replication_v1_PeerIdentity | null);
  'session'?: (string);
  'tree'?: (_understudy_replication_v1_TreeName);
  'is_whole'?: (boolean);
  'sub_pages'?: (_understudy_replication_v1_CallerSubPage)[];
}

export interface FetchKeysRequest__Output {
  'who': (_understudy_replication_v1_PeerIdentity__Output | null);
  'session': (string);
  'tree': (_understudy_replication_v1_TreeName__Output);
  'is_whole': (boolean);
  'sub_pages': (_understudy_replication_v1_CallerSubPage__Output)[];
}
