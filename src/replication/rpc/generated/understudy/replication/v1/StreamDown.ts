// Original file: proto/replication.proto

import type { StreamAccepted as _understudy_replication_v1_StreamAccepted, StreamAccepted__Output as _understudy_replication_v1_StreamAccepted__Output } from '../../../understudy/replication/v1/StreamAccepted.js';
import type { Shipment as _understudy_replication_v1_Shipment, Shipment__Output as _understudy_replication_v1_Shipment__Output } from '../../../understudy/replication/v1/Shipment.js';
import type { ResyncNeeded as _understudy_replication_v1_ResyncNeeded, ResyncNeeded__Output as _understudy_replication_v1_ResyncNeeded__Output } from '../../../understudy/replication/v1/ResyncNeeded.js';
import type { PrimaryAddresses as _understudy_replication_v1_PrimaryAddresses, PrimaryAddresses__Output as _understudy_replication_v1_PrimaryAddresses__Output } from '../../../understudy/replication/v1/PrimaryAddresses.js';

export interface StreamDown {
  'accepted'?: (_understudy_replication_v1_StreamAccepted | null);
  'shipment'?: (_understudy_replication_v1_Shipment | null);
  'resync'?: (_understudy_replication_v1_ResyncNeeded | null);
  'addresses'?: (_understudy_replication_v1_PrimaryAddresses | null);
  'message'?: "accepted"|"shipment"|"resync"|"addresses";
}

export interface StreamDown__Output {
  'accepted'?: (_understudy_replication_v1_StreamAccepted__Output | null);
  'shipment'?: (_understudy_replication_v1_Shipment__Output | null);
  'resync'?: (_understudy_replication_v1_ResyncNeeded__Output | null);
  'addresses'?: (_understudy_replication_v1_PrimaryAddresses__Output | null);
  'message'?: "accepted"|"shipment"|"resync"|"addresses";
}
