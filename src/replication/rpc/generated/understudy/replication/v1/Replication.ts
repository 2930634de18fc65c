// Original file: proto/replication.proto

import type * as grpc from '@grpc/grpc-js'
import type { MethodDefinition } from '@grpc/proto-loader'
import type { BootstrapReply as _understudy_replication_v1_BootstrapReply, BootstrapReply__Output as _understudy_replication_v1_BootstrapReply__Output } from '../../../understudy/replication/v1/BootstrapReply.js';
import type { BootstrapRequest as _understudy_replication_v1_BootstrapRequest, BootstrapRequest__Output as _understudy_replication_v1_BootstrapRequest__Output } from '../../../understudy/replication/v1/BootstrapRequest.js';
import type { CommonPositionReply as _understudy_replication_v1_CommonPositionReply, CommonPositionReply__Output as _understudy_replication_v1_CommonPositionReply__Output } from '../../../understudy/replication/v1/CommonPositionReply.js';
import type { CommonPositionRequest as _understudy_replication_v1_CommonPositionRequest, CommonPositionRequest__Output as _understudy_replication_v1_CommonPositionRequest__Output } from '../../../understudy/replication/v1/CommonPositionRequest.js';
import type { ConflictingPagesReply as _understudy_replication_v1_ConflictingPagesReply, ConflictingPagesReply__Output as _understudy_replication_v1_ConflictingPagesReply__Output } from '../../../understudy/replication/v1/ConflictingPagesReply.js';
import type { ConflictingPagesRequest as _understudy_replication_v1_ConflictingPagesRequest, ConflictingPagesRequest__Output as _understudy_replication_v1_ConflictingPagesRequest__Output } from '../../../understudy/replication/v1/ConflictingPagesRequest.js';
import type { EchoReply as _understudy_replication_v1_EchoReply, EchoReply__Output as _understudy_replication_v1_EchoReply__Output } from '../../../understudy/replication/v1/EchoReply.js';
import type { EchoRequest as _understudy_replication_v1_EchoRequest, EchoRequest__Output as _understudy_replication_v1_EchoRequest__Output } from '../../../understudy/replication/v1/EchoRequest.js';
import type { FetchKeysReply as _understudy_replication_v1_FetchKeysReply, FetchKeysReply__Output as _understudy_replication_v1_FetchKeysReply__Output } from '../../../understudy/replication/v1/FetchKeysReply.js';
import type { FetchKeysRequest as _understudy_replication_v1_FetchKeysRequest, FetchKeysRequest__Output as _understudy_replication_v1_FetchKeysRequest__Output } from '../../../understudy/replication/v1/FetchKeysRequest.js';
import type { ForwardReply as _understudy_replication_v1_ForwardReply, ForwardReply__Output as _understudy_replication_v1_ForwardReply__Output } from '../../../understudy/replication/v1/ForwardReply.js';
import type { ForwardRequest as _understudy_replication_v1_ForwardRequest, ForwardRequest__Output as _understudy_replication_v1_ForwardRequest__Output } from '../../../understudy/replication/v1/ForwardRequest.js';
import type { PingReply as _understudy_replication_v1_PingReply, PingReply__Output as _understudy_replication_v1_PingReply__Output } from '../../../understudy/replication/v1/PingReply.js';
import type { PingRequest as _understudy_replication_v1_PingRequest, PingRequest__Output as _understudy_replication_v1_PingRequest__Output } from '../../../understudy/replication/v1/PingRequest.js';
import type { StreamDown as _understudy_replication_v1_StreamDown, StreamDown__Output as _understudy_replication_v1_StreamDown__Output } from '../../../understudy/replication/v1/StreamDown.js';
import type { StreamUp as _understudy_replication_v1_StreamUp, StreamUp__Output as _understudy_replication_v1_StreamUp__Output } from '../../../understudy/replication/v1/StreamUp.js';
import type { SubPageHashesReply as _understudy_replication_v1_SubPageHashesReply, SubPageHashesReply__Output as _understudy_replication_v1_SubPageHashesReply__Output } from '../../../understudy/replication/v1/SubPageHashesReply.js';
import type { SubPageHashesRequest as _understudy_replication_v1_SubPageHashesRequest, SubPageHashesRequest__Output as _understudy_replication_v1_SubPageHashesRequest__Output } from '../../../understudy/replication/v1/SubPageHashesRequest.js';

export interface ReplicationClient extends grpc.Client {
  Bootstrap(argument: _understudy_replication_v1_BootstrapRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_understudy_replication_v1_BootstrapReply__Output>): grpc.ClientUnaryCall;
  Bootstrap(argument: _understudy_replication_v1_BootstrapRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_understudy_replication_v1_BootstrapReply__Output>): grpc.ClientUnaryCall;
  Bootstrap(argument: _understudy_replication_v1_BootstrapRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_understudy_replication_v1_BootstrapReply__Output>): grpc.ClientUnaryCall;
  Bootstrap(argument: _understudy_replication_v1_BootstrapRequest, callback: grpc.requestCallback<_understudy_replication_v1_BootstrapReply__Output>): grpc.ClientUnaryCall;
  bootstrap(argument: _understudy_replication_v1_BootstrapRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_understudy_replication_v1_BootstrapReply__Output>): grpc.ClientUnaryCall;
  bootstrap(argument: _understudy_replication_v1_BootstrapRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_understudy_replication_v1_BootstrapReply__Output>): grpc.ClientUnaryCall;
  bootstrap(argument: _understudy_replication_v1_BootstrapRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_understudy_replication_v1_BootstrapReply__Output>): grpc.ClientUnaryCall;
  bootstrap(argument: _understudy_replication_v1_BootstrapRequest, callback: grpc.requestCallback<_understudy_replication_v1_BootstrapReply__Output>): grpc.ClientUnaryCall;
  
  CommonPosition(argument: _understudy_replication_v1_CommonPositionRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_understudy_replication_v1_CommonPositionReply__Output>): grpc.ClientUnaryCall;
  CommonPosition(argument: _understudy_replication_v1_CommonPositionRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_understudy_replication_v1_CommonPositionReply__Output>): grpc.ClientUnaryCall;
  CommonPosition(argument: _understudy_replication_v1_CommonPositionRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_understudy_replication_v1_CommonPositionReply__Output>): grpc.ClientUnaryCall;
  CommonPosition(argument: _understudy_replication_v1_CommonPositionRequest, callback: grpc.requestCallback<_understudy_replication_v1_CommonPositionReply__Output>): grpc.ClientUnaryCall;
  commonPosition(argument: _understudy_replication_v1_CommonPositionRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_understudy_replication_v1_CommonPositionReply__Output>): grpc.ClientUnaryCall;
  commonPosition(argument: _understudy_replication_v1_CommonPositionRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_understudy_replication_v1_CommonPositionReply__Output>): grpc.ClientUnaryCall;
  commonPosition(argument: _understudy_replication_v1_CommonPositionRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_understudy_replication_v1_CommonPositionReply__Output>): grpc.ClientUnaryCall;
  commonPosition(argument: _understudy_replication_v1_CommonPositionRequest, callback: grpc.requestCallback<_understudy_replication_v1_CommonPositionReply__Output>): grpc.ClientUnaryCall;
  
  ConflictingPages(argument: _understudy_replication_v1_ConflictingPagesRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_understudy_replication_v1_ConflictingPagesReply__Output>): grpc.ClientUnaryCall;
  ConflictingPages(argument: _understudy_replication_v1_ConflictingPagesRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_understudy_replication_v1_ConflictingPagesReply__Output>): grpc.ClientUnaryCall;
  ConflictingPages(argument: _understudy_replication_v1_ConflictingPagesRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_understudy_replication_v1_ConflictingPagesReply__Output>): grpc.ClientUnaryCall;
  ConflictingPages(argument: _understudy_replication_v1_ConflictingPagesRequest, callback: grpc.requestCallback<_understudy_replication_v1_ConflictingPagesReply__Output>): grpc.ClientUnaryCall;
  conflictingPages(argument: _understudy_replication_v1_ConflictingPagesRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_understudy_replication_v1_ConflictingPagesReply__Output>): grpc.ClientUnaryCall;
  conflictingPages(argument: _understudy_replication_v1_ConflictingPagesRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_understudy_replication_v1_ConflictingPagesReply__Output>): grpc.ClientUnaryCall;
  conflictingPages(argument: _understudy_replication_v1_ConflictingPagesRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_understudy_replication_v1_ConflictingPagesReply__Output>): grpc.ClientUnaryCall;
  conflictingPages(argument: _understudy_replication_v1_ConflictingPagesRequest, callback: grpc.requestCallback<_understudy_replication_v1_ConflictingPagesReply__Output>): grpc.ClientUnaryCall;
  
  Echo(argument: _understudy_replication_v1_EchoRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_understudy_replication_v1_EchoReply__Output>): grpc.ClientUnaryCall;
  Echo(argument: _understudy_replication_v1_EchoRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_understudy_replication_v1_EchoReply__Output>): grpc.ClientUnaryCall;
  Echo(argument: _understudy_replication_v1_EchoRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_understudy_replication_v1_EchoReply__Output>): grpc.ClientUnaryCall;
  Echo(argument: _understudy_replication_v1_EchoRequest, callback: grpc.requestCallback<_understudy_replication_v1_EchoReply__Output>): grpc.ClientUnaryCall;
  echo(argument: _understudy_replication_v1_EchoRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_understudy_replication_v1_EchoReply__Output>): grpc.ClientUnaryCall;
  echo(argument: _understudy_replication_v1_EchoRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_understudy_replication_v1_EchoReply__Output>): grpc.ClientUnaryCall;
  echo(argument: _understudy_replication_v1_EchoRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_understudy_replication_v1_EchoReply__Output>): grpc.ClientUnaryCall;
  echo(argument: _understudy_replication_v1_EchoRequest, callback: grpc.requestCallback<_understudy_replication_v1_EchoReply__Output>): grpc.ClientUnaryCall;
  
  FetchKeys(argument: _understudy_replication_v1_FetchKeysRequest, metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientReadableStream<_understudy_replication_v1_FetchKeysReply__Output>;
  FetchKeys(argument: _understudy_replication_v1_FetchKeysRequest, options?: grpc.CallOptions): grpc.ClientReadableStream<_understudy_replication_v1_FetchKeysReply__Output>;
  fetchKeys(argument: _understudy_replication_v1_FetchKeysRequest, metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientReadableStream<_understudy_replication_v1_FetchKeysReply__Output>;
  fetchKeys(argument: _understudy_replication_v1_FetchKeysRequest, options?: grpc.CallOptions): grpc.ClientReadableStream<_understudy_replication_v1_FetchKeysReply__Output>;
  
  Forward(argument: _understudy_replication_v1_ForwardRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_understudy_replication_v1_ForwardReply__Output>): grpc.ClientUnaryCall;
  Forward(argument: _understudy_replication_v1_ForwardRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_understudy_replication_v1_ForwardReply__Output>): grpc.ClientUnaryCall;
  Forward(argument: _understudy_replication_v1_ForwardRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_understudy_replication_v1_ForwardReply__Output>): grpc.ClientUnaryCall;
  Forward(argument: _understudy_replication_v1_ForwardRequest, callback: grpc.requestCallback<_understudy_replication_v1_ForwardReply__Output>): grpc.ClientUnaryCall;
  forward(argument: _understudy_replication_v1_ForwardRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_understudy_replication_v1_ForwardReply__Output>): grpc.ClientUnaryCall;
  forward(argument: _understudy_replication_v1_ForwardRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_understudy_replication_v1_ForwardReply__Output>): grpc.ClientUnaryCall;
  forward(argument: _understudy_replication_v1_ForwardRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_understudy_replication_v1_ForwardReply__Output>): grpc.ClientUnaryCall;
  forward(argument: _understudy_replication_v1_ForwardRequest, callback: grpc.requestCallback<_understudy_replication_v1_ForwardReply__Output>): grpc.ClientUnaryCall;
  
  Ping(argument: _understudy_replication_v1_PingRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_understudy_replication_v1_PingReply__Output>): grpc.ClientUnaryCall;
  Ping(argument: _understudy_replication_v1_PingRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_understudy_replication_v1_PingReply__Output>): grpc.ClientUnaryCall;
  Ping(argument: _understudy_replication_v1_PingRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_understudy_replication_v1_PingReply__Output>): grpc.ClientUnaryCall;
  Ping(argument: _understudy_replication_v1_PingRequest, callback: grpc.requestCallback<_understudy_replication_v1_PingReply__Output>): grpc.ClientUnaryCall;
  ping(argument: _understudy_replication_v1_PingRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_understudy_replication_v1_PingReply__Output>): grpc.ClientUnaryCall;
  ping(argument: _understudy_replication_v1_PingRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_understudy_replication_v1_PingReply__Output>): grpc.ClientUnaryCall;
  ping(argument: _understudy_replication_v1_PingRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_understudy_replication_v1_PingReply__Output>): grpc.ClientUnaryCall;
  ping(argument: _understudy_replication_v1_PingRequest, callback: grpc.requestCallback<_understudy_replication_v1_PingReply__Output>): grpc.ClientUnaryCall;
  
  StreamWals(metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientDuplexStream<_understudy_replication_v1_StreamUp, _understudy_replication_v1_StreamDown__Output>;
  StreamWals(options?: grpc.CallOptions): grpc.ClientDuplexStream<_understudy_replication_v1_StreamUp, _understudy_replication_v1_StreamDown__Output>;
  streamWals(metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientDuplexStream<_understudy_replication_v1_StreamUp, _understudy_replication_v1_StreamDown__Output>;
  streamWals(options?: grpc.CallOptions): grpc.ClientDuplexStream<_understudy_replication_v1_StreamUp, _understudy_replication_v1_StreamDown__Output>;
  
  SubPageHashes(argument: _understudy_replication_v1_SubPageHashesRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_understudy_replication_v1_SubPageHashesReply__Output>): grpc.ClientUnaryCall;
  SubPageHashes(argument: _understudy_replication_v1_SubPageHashesRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_understudy_replication_v1_SubPageHashesReply__Output>): grpc.ClientUnaryCall;
  SubPageHashes(argument: _understudy_replication_v1_SubPageHashesRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_understudy_replication_v1_SubPageHashesReply__Output>): grpc.ClientUnaryCall;
  SubPageHashes(argument: _understudy_replication_v1_SubPageHashesRequest, callback: grpc.requestCallback<_understudy_replication_v1_SubPageHashesReply__Output>): grpc.ClientUnaryCall;
  subPageHashes(argument: _understudy_replication_v1_SubPageHashesRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_understudy_replication_v1_SubPageHashesReply__Output>): grpc.ClientUnaryCall;
  subPageHashes(argument: _understudy_replication_v1_SubPageHashesRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_understudy_replication_v1_SubPageHashesReply__Output>): grpc.ClientUnaryCall;
  subPageHashes(argument: _understudy_replication_v1_SubPageHashesRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_understudy_replication_v1_SubPageHashesReply__Output>): grpc.ClientUnaryCall;
  subPageHashes(argument: _understudy_replication_v1_SubPageHashesRequest, callback: grpc.requestCallback<_understudy_replication_v1_SubPageHashesReply__Output>): grpc.ClientUnaryCall;
  
}

export interface ReplicationHandlers extends grpc.UntypedServiceImplementation {
  Bootstrap: grpc.handleUnaryCall<_understudy_replication_v1_BootstrapRequest__Output, _understudy_replication_v1_BootstrapReply>;
  
  CommonPosition: grpc.handleUnaryCall<_understudy_replication_v1_CommonPositionRequest__Output, _understudy_replication_v1_CommonPositionReply>;
  
  ConflictingPages: grpc.handleUnaryCall<_understudy_replication_v1_ConflictingPagesRequest__Output, _understudy_replication_v1_ConflictingPagesReply>;
  
  Echo: grpc.handleUnaryCall<_understudy_replication_v1_EchoRequest__Output, _understudy_replication_v1_EchoReply>;
  
  FetchKeys: grpc.handleServerStreamingCall<_understudy_replication_v1_FetchKeysRequest__Output, _understudy_replication_v1_FetchKeysReply>;
  
  Forward: grpc.handleUnaryCall<_understudy_replication_v1_ForwardRequest__Output, _understudy_replication_v1_ForwardReply>;
  
  Ping: grpc.handleUnaryCall<_understudy_replication_v1_PingRequest__Output, _understudy_replication_v1_PingReply>;
  
  StreamWals: grpc.handleBidiStreamingCall<_understudy_replication_v1_StreamUp__Output, _understudy_replication_v1_StreamDown>;
  
  SubPageHashes: grpc.handleUnaryCall<_understudy_replication_v1_SubPageHashesRequest__Output, _understudy_replication_v1_SubPageHashesReply>;
  
}

export interface ReplicationDefinition extends grpc.ServiceDefinition {
  Bootstrap: MethodDefinition<_understudy_replication_v1_BootstrapRequest, _understudy_replication_v1_BootstrapReply, _understudy_replication_v1_BootstrapRequest__Output, _understudy_replication_v1_BootstrapReply__Output>
  CommonPosition: MethodDefinition<_understudy_replication_v1_CommonPositionRequest, _understudy_replication_v1_CommonPositionReply, _understudy_replication_v1_CommonPositionRequest__Output, _understudy_replication_v1_CommonPositionReply__Output>
  ConflictingPages: MethodDefinition<_understudy_replication_v1_ConflictingPagesRequest, _understudy_replication_v1_ConflictingPagesReply, _understudy_replication_v1_ConflictingPagesRequest__Output, _understudy_replication_v1_ConflictingPagesReply__Output>
  Echo: MethodDefinition<_understudy_replication_v1_EchoRequest, _understudy_replication_v1_EchoReply, _understudy_replication_v1_EchoRequest__Output, _understudy_replication_v1_EchoReply__Output>
  FetchKeys: MethodDefinition<_understudy_replication_v1_FetchKeysRequest, _understudy_replication_v1_FetchKeysReply, _understudy_replication_v1_FetchKeysRequest__Output, _understudy_replication_v1_FetchKeysReply__Output>
  Forward: MethodDefinition<_understudy_replication_v1_ForwardRequest, _understudy_replication_v1_ForwardReply, _understudy_replication_v1_ForwardRequest__Output, _understudy_replication_v1_ForwardReply__Output>
  Ping: MethodDefinition<_understudy_replication_v1_PingRequest, _understudy_replication_v1_PingReply, _understudy_replication_v1_PingRequest__Output, _understudy_replication_v1_PingReply__Output>
  StreamWals: MethodDefinition<_understudy_replication_v1_StreamUp, _understudy_replication_v1_StreamDown, _understudy_replication_v1_StreamUp__Output, _understudy_replication_v1_StreamDown__Output>
  SubPageHashes: MethodDefinition<_understudy_replication_v1_SubPageHashesRequest, _understudy_replication_v1_SubPageHashesReply, _understudy_replication_v1_SubPageHashesRequest__Output, _understudy_replication_v1_SubPageHashesReply__Output>
}
