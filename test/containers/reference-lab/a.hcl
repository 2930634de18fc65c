ui            = true
disable_mlock = true
cluster_name  = "cluster-a"
api_addr      = "http://a:8200"
cluster_addr  = "https://a:8201"
license_path  = "/vault/config/license.hclic"

storage "raft" {
  path    = "/vault/file"
  node_id = "a-1"
}

listener "tcp" {
  address         = "0.0.0.0:8200"
  cluster_address = "0.0.0.0:8201"
  tls_disable     = "true"

  telemetry {
    unauthenticated_metrics_access = true
  }
}

telemetry {
  prometheus_retention_time = "30s"
  disable_hostname          = true
}

reporting {
  license {
    enabled = false
  }
}
