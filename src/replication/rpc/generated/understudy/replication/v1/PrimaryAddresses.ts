// Original file: proto/replication.proto


export interface PrimaryAddresses {
  'addresses'?: (string)[];
}

export interface PrimaryAddresses__Output {
  'addresses': (string)[];
}
