// Original file: proto/replication.proto

import type { Epoch as _understudy_replication_v1_Epoch, Epoch__Output as _understudy_replication_v1_Epoch__Output } from '../../../understudy/replication/v1/Epoch.js';
import type { Long } from '@grpc/proto-loader';

export interface PeerIdentity {
  'set_id'?: (string);
  'cluster_id'?: (string);
  'version'?: (string);
  'epochs'?: (_understudy_replication_v1_Epoch)[];
  'api_address'?: (string);
  'cluster_addresses'?: (string)[];
  'incarnation'?: (number | string | Long);
  'is_primary'?: (boolean);
  'ended'?: (_understudy_replication_v1_Epoch)[];
}

export interface PeerIdentity__Output {
  'set_id': (string);
  'cluster_id': (string);
  'version': (string);
  'epochs': (_understudy_replication_v1_Epoch__Output)[];
  'api_address': (string);
  'cluster_addresses': (string)[];
  'incarnation': (number);
  'is_primary': (boolean);
  'ended': (_understudy_replication_v1_Epoch__Output)[];
}
