import type * as grpc from '@grpc/grpc-js';
import type { EnumTypeDefinition, MessageTypeDefinition } from '@grpc/proto-loader';

import type { BootstrapReply as _understudy_replication_v1_BootstrapReply, BootstrapReply__Output as _understudy_replication_v1_BootstrapReply__Output } from './understudy/replication/v1/BootstrapReply.js';
import type { BootstrapRequest as _understudy_replication_v1_BootstrapRequest, BootstrapRequest__Output as _understudy_replication_v1_BootstrapRequest__Output } from './understudy/replication/v1/BootstrapRequest.js';
import type { CallerSubPage as _understudy_replication_v1_CallerSubPage, CallerSubPage__Output as _understudy_replication_v1_CallerSubPage__Output } from './understudy/replication/v1/CallerSubPage.js';
import type { CommonPositionReply as _understudy_replication_v1_CommonPositionReply, CommonPositionReply__Output as _understudy_replication_v1_CommonPositionReply__Output } from './understudy/replication/v1/CommonPositionReply.js';
import type { CommonPositionRequest as _understudy_replication_v1_CommonPositionRequest, CommonPositionRequest__Output as _understudy_replication_v1_CommonPositionRequest__Output } from './understudy/replication/v1/CommonPositionRequest.js';
import type { ConflictingPagesReply as _understudy_replication_v1_ConflictingPagesReply, ConflictingPagesReply__Output as _understudy_replication_v1_ConflictingPagesReply__Output } from './understudy/replication/v1/ConflictingPagesReply.js';
import type { ConflictingPagesRequest as _understudy_replication_v1_ConflictingPagesRequest, ConflictingPagesRequest__Output as _understudy_replication_v1_ConflictingPagesRequest__Output } from './understudy/replication/v1/ConflictingPagesRequest.js';
import type { EchoReply as _understudy_replication_v1_EchoReply, EchoReply__Output as _understudy_replication_v1_EchoReply__Output } from './understudy/replication/v1/EchoReply.js';
import type { EchoRequest as _understudy_replication_v1_EchoRequest, EchoRequest__Output as _understudy_replication_v1_EchoRequest__Output } from './understudy/replication/v1/EchoRequest.js';
import type { Epoch as _understudy_replication_v1_Epoch, Epoch__Output as _understudy_replication_v1_Epoch__Output } from './understudy/replication/v1/Epoch.js';
import type { FetchKeysReply as _understudy_replication_v1_FetchKeysReply, FetchKeysReply__Output as _understudy_replication_v1_FetchKeysReply__Output } from './understudy/replication/v1/FetchKeysReply.js';
import type { FetchKeysRequest as _understudy_replication_v1_FetchKeysRequest, FetchKeysRequest__Output as _understudy_replication_v1_FetchKeysRequest__Output } from './understudy/replication/v1/FetchKeysRequest.js';
import type { FilteredSubPage as _understudy_replication_v1_FilteredSubPage, FilteredSubPage__Output as _understudy_replication_v1_FilteredSubPage__Output } from './understudy/replication/v1/FilteredSubPage.js';
import type { ForwardReply as _understudy_replication_v1_ForwardReply, ForwardReply__Output as _understudy_replication_v1_ForwardReply__Output } from './understudy/replication/v1/ForwardReply.js';
import type { ForwardRequest as _understudy_replication_v1_ForwardRequest, ForwardRequest__Output as _understudy_replication_v1_ForwardRequest__Output } from './understudy/replication/v1/ForwardRequest.js';
import type { FrameSlice as _understudy_replication_v1_FrameSlice, FrameSlice__Output as _understudy_replication_v1_FrameSlice__Output } from './understudy/replication/v1/FrameSlice.js';
import type { KeyValue as _understudy_replication_v1_KeyValue, KeyValue__Output as _understudy_replication_v1_KeyValue__Output } from './understudy/replication/v1/KeyValue.js';
import type { PeerIdentity as _understudy_replication_v1_PeerIdentity, PeerIdentity__Output as _understudy_replication_v1_PeerIdentity__Output } from './understudy/replication/v1/PeerIdentity.js';
import type { PingReply as _understudy_replication_v1_PingReply, PingReply__Output as _understudy_replication_v1_PingReply__Output } from './understudy/replication/v1/PingReply.js';
import type { PingRequest as _understudy_replication_v1_PingRequest, PingRequest__Output as _understudy_replication_v1_PingRequest__Output } from './understudy/replication/v1/PingRequest.js';
import type { Position as _understudy_replication_v1_Position, Position__Output as _understudy_replication_v1_Position__Output } from './understudy/replication/v1/Position.js';
import type { PrimaryAddresses as _understudy_replication_v1_PrimaryAddresses, PrimaryAddresses__Output as _understudy_replication_v1_PrimaryAddresses__Output } from './understudy/replication/v1/PrimaryAddresses.js';
import type { ReplicationClient as _understudy_replication_v1_ReplicationClient, ReplicationDefinition as _understudy_replication_v1_ReplicationDefinition } from './understudy/replication/v1/Replication.js';
import type { ResyncNeeded as _understudy_replication_v1_ResyncNeeded, ResyncNeeded__Output as _understudy_replication_v1_ResyncNeeded__Output } from './understudy/replication/v1/ResyncNeeded.js';
import type { Shipment as _understudy_replication_v1_Shipment, Shipment__Output as _understudy_replication_v1_Shipment__Output } from './understudy/replication/v1/Shipment.js';
import type { StreamAccepted as _understudy_replication_v1_StreamAccepted, StreamAccepted__Output as _understudy_replication_v1_StreamAccepted__Output } from './understudy/replication/v1/StreamAccepted.js';
import type { StreamDown as _understudy_replication_v1_StreamDown, StreamDown__Output as _understudy_replication_v1_StreamDown__Output } from './understudy/replication/v1/StreamDown.js';
import type { StreamOpen as _understudy_replication_v1_StreamOpen, StreamOpen__Output as _understudy_replication_v1_StreamOpen__Output } from './understudy/replication/v1/StreamOpen.js';
import type { StreamUp as _understudy_replication_v1_StreamUp, StreamUp__Output as _understudy_replication_v1_StreamUp__Output } from './understudy/replication/v1/StreamUp.js';
import type { SubPageHashesReply as _understudy_replication_v1_SubPageHashesReply, SubPageHashesReply__Output as _understudy_replication_v1_SubPageHashesReply__Output } from './understudy/replication/v1/SubPageHashesReply.js';
import type { SubPageHashesRequest as _understudy_replication_v1_SubPageHashesRequest, SubPageHashesRequest__Output as _understudy_replication_v1_SubPageHashesRequest__Output } from './understudy/replication/v1/SubPageHashesRequest.js';

type SubtypeConstructor<Constructor extends new (...args: any) => any, Subtype> = {
  new(...args: ConstructorParameters<Constructor>): Subtype;
};

export interface ProtoGrpcType {
  understudy: {
    replication: {
      v1: {
        BootstrapReply: MessageTypeDefinition<_understudy_replication_v1_BootstrapReply, _understudy_replication_v1_BootstrapReply__Output>
        BootstrapRequest: MessageTypeDefinition<_understudy_replication_v1_BootstrapRequest, _understudy_replication_v1_BootstrapRequest__Output>
        CallerSubPage: MessageTypeDefinition<_understudy_replication_v1_CallerSubPage, _understudy_replication_v1_CallerSubPage__Output>
        CommonPositionReply: MessageTypeDefinition<_understudy_replication_v1_CommonPositionReply, _understudy_replication_v1_CommonPositionReply__Output>
        CommonPositionRequest: MessageTypeDefinition<_understudy_replication_v1_CommonPositionRequest, _understudy_replication_v1_CommonPositionRequest__Output>
        ConflictingPagesReply: MessageTypeDefinition<_understudy_replication_v1_ConflictingPagesReply, _understudy_replication_v1_ConflictingPagesReply__Output>
        ConflictingPagesRequest: MessageTypeDefinition<_understudy_replication_v1_ConflictingPagesRequest, _understudy_replication_v1_ConflictingPagesRequest__Output>
        EchoReply: MessageTypeDefinition<_understudy_replication_v1_EchoReply, _understudy_replication_v1_EchoReply__Output>
        EchoRequest: MessageTypeDefinition<_understudy_replication_v1_EchoRequest, _understudy_replication_v1_EchoRequest__Output>
        Epoch: MessageTypeDefinition<_understudy_replication_v1_Epoch, _understudy_replication_v1_Epoch__Output>
        FetchKeysReply: MessageTypeDefinition<_understudy_replication_v1_FetchKeysReply, _understudy_replication_v1_FetchKeysReply__Output>
        FetchKeysRequest: MessageTypeDefinition<_understudy_replication_v1_FetchKeysRequest, _understudy_replication_v1_FetchKeysRequest__Output>
        FilteredSubPage: MessageTypeDefinition<_understudy_replication_v1_FilteredSubPage, _understudy_replication_v1_FilteredSubPage__Output>
        ForwardReply: MessageTypeDefinition<_understudy_replication_v1_ForwardReply, _understudy_replication_v1_ForwardReply__Output>
        ForwardRequest: MessageTypeDefinition<_understudy_replication_v1_ForwardRequest, _understudy_replication_v1_ForwardRequest__Output>
        FrameSlice: MessageTypeDefinition<_understudy_replication_v1_FrameSlice, _understudy_replication_v1_FrameSlice__Output>
        KeyValue: MessageTypeDefinition<_understudy_replication_v1_KeyValue, _understudy_replication_v1_KeyValue__Output>
        PeerIdentity: MessageTypeDefinition<_understudy_replication_v1_PeerIdentity, _understudy_replication_v1_PeerIdentity__Output>
        PingReply: MessageTypeDefinition<_understudy_replication_v1_PingReply, _understudy_replication_v1_PingReply__Output>
        PingRequest: MessageTypeDefinition<_understudy_replication_v1_PingRequest, _understudy_replication_v1_PingRequest__Output>
        Position: MessageTypeDefinition<_understudy_replication_v1_Position, _understudy_replication_v1_Position__Output>
        PrimaryAddresses: MessageTypeDefinition<_understudy_replication_v1_PrimaryAddresses, _understudy_replication_v1_PrimaryAddresses__Output>
        Replication: SubtypeConstructor<typeof grpc.Client, _understudy_replication_v1_ReplicationClient> & { service: _understudy_replication_v1_ReplicationDefinition }
        ResyncNeeded: MessageTypeDefinition<_understudy_replication_v1_ResyncNeeded, _understudy_replication_v1_ResyncNeeded__Output>
        Shipment: MessageTypeDefinition<_understudy_replication_v1_Shipment, _understudy_replication_v1_Shipment__Output>
        StreamAccepted: MessageTypeDefinition<_understudy_replication_v1_StreamAccepted, _understudy_replication_v1_StreamAccepted__Output>
        StreamDown: MessageTypeDefinition<_understudy_replication_v1_StreamDown, _understudy_replication_v1_StreamDown__Output>
        StreamOpen: MessageTypeDefinition<_understudy_replication_v1_StreamOpen, _understudy_replication_v1_StreamOpen__Output>
        StreamUp: MessageTypeDefinition<_understudy_replication_v1_StreamUp, _understudy_replication_v1_StreamUp__Output>
        SubPageHashesReply: MessageTypeDefinition<_understudy_replication_v1_SubPageHashesReply, _understudy_replication_v1_SubPageHashesReply__Output>
        SubPageHashesRequest: MessageTypeDefinition<_understudy_replication_v1_SubPageHashesRequest, _understudy_replication_v1_SubPageHashesRequest__Output>
        TreeName: EnumTypeDefinition
      }
    }
  }
}

