//! Forges, clouds, infrastructure and databases.

use crate::Class::{Cloud, Data, Forge};
use crate::{Rule, Test, on};

const FORGE: &[&str] = &["create", "new", "edit", "close", "reopen", "comment", "note", "delete", "merge", "review", "approve", "revoke", "ready", "lock", "unlock", "pin", "unpin", "transfer", "develop", "update-branch", "upload", "delete-asset", "rename", "archive", "unarchive", "fork", "sync", "set", "set-default", "remove", "add", "enable", "disable", "run", "rerun", "cancel", "login", "logout", "refresh", "setup-git", "switch", "install", "upgrade", "exec", "import", "link", "unlink", "mark-template", "item-add", "item-edit", "item-delete", "item-create", "item-archive", "field-create", "field-delete", "copy", "retry", "trigger", "play", "update", "subscribe", "unsubscribe", "todo", "rebase", "publish", "bulk-delete", "stop", "ssh", "rebuild", "ports", "start", "move", "autofix", "mirror", "deploy-key", "autolink", "ping-hook", "revert", "token"];
const VERBS: &[&str] = &["create", "delete", "destroy", "remove", "rm", "update", "set", "deploy", "undeploy", "start", "stop", "restart", "reset", "resume", "suspend", "terminate", "reboot", "apply", "import", "export-run", "add", "attach", "detach", "enable", "disable", "purge", "scale", "resize", "failover", "promote", "rollback", "run", "invoke", "publish", "put", "upload", "cp", "mv", "sync", "rsync", "ssh", "scp", "reset-windows-password", "login", "logout", "revoke", "rotate", "regenerate", "move", "restore", "patch", "replace", "cancel", "drain", "launch", "execute", "call", "submit", "activate", "deactivate", "init", "configure", "kill", "poweroff", "power-off", "power-on", "shutdown", "rebuild", "clone", "migrate", "write", "make-bucket", "mb", "rb", "mk", "fork", "release", "unset", "push", "clear", "edit", "new", "link", "up", "down", "assign", "unassign", "abandon", "deallocate", "redeploy", "reimage", "install", "uninstall", "modify", "tag", "untag", "share", "grant", "change-protection", "enable-*", "disable-*", "create-*", "delete-*", "remove-*", "add-*", "set-*", "update-*", "start-*", "stop-*", "terminate-*", "reboot-*", "modify-*", "put-*", "attach-*", "detach-*", "run-*", "reset-*", "restore-*", "associate-*", "disassociate-*", "authorize-*", "revoke-*", "cancel-*", "register-*", "deregister-*", "release-*", "allocate-*", "import-*", "send-*", "publish-*", "invoke-*", "execute-*", "tag-*", "untag-*", "batch-*", "purge-*", "schedule-*", "upgrade-*", "rotate-*", "move-*", "change-*", "assign-*", "accept-*", "reject-*", "transact-*", "write-*", "upload-*", "abort-*", "complete-*", "copy-*", "replace-*", "resize-*", "scale-*", "failover-*", "promote-*", "switch-*", "apply-*", "request-*", "enter-*", "exit-*", "assume-*", "simulate-*"];

pub(super) const RULES: &[Rule] = &[
    Rule::new("forge.tool", Forge, "an MCP tool that changes something elsewhere")
        .because("others see it", "prepare the text and give it to the user")
        .lab_only(),
    Rule::new("forge.write", Forge, "changing issues, pull requests, releases, workflows or repositories")
        .because("other people see it, and it runs with the user's name", "give the user the text and the command")
        .on_with_prefixes(&[
            on(&["gh", "glab", "hub", "tea", "lab", "fj", "berg"]).sub(&[&["*"], FORGE]).unless(&[Test::Word(&["--dry-run"])]),
            on(&["gh"]).sub(&[&["pr"], &["checkout-force"]]),
            on(&["gh"]).sub(&[&["copilot", "agent-task", "models", "attestation", "codespace", "cs"]]).when(&[Test::Operands(1)]),
            on(&["glab"]).sub(&[&["ci", "pipeline", "repo", "release", "variable", "schedule"], &["run", "delete", "create", "retry", "cancel", "trigger", "transfer", "archive", "upload", "set", "update"]]),
            on(&["gh", "glab"]).sub(&[&["api"]]).when(&[Test::Word(&["-X", "--method", "-XPOST", "-XPUT", "-XPATCH", "-XDELETE", "-X=*", "--method=*", "-f", "-F", "--field", "--raw-field", "--input", "-f*", "-F*", "--field=*", "--raw-field=*", "--input=*"])]).unless(&[Test::Operand(&["GET", "graphql"]), Test::Word(&["--method=GET", "-XGET", "-X=GET"])]),
            on(&["gh", "glab"]).sub(&[&["api"], &["graphql"]]).unless(&[Test::Word(&["query=query*", "query={*", "query= *query*"])]),
            on(&["gh", "glab"]).sub(&[&["api"], &["graphql"]]).when(&[Test::Contains(&["mutation"])]),
            on(&["hub"]).sub(&[&["pull-request", "create", "delete", "fork", "push", "sync", "merge", "ci-trigger"]]),
            on(&["git-bug", "jira", "linear", "asana", "trello", "notion", "acli", "youtrack", "redmine", "bugzilla"]).when(&[Test::Operand(FORGE)]),
        ])
        .prefixes(&[
            on(&["gh"]).sub(&[&["issue", "pr", "release", "repo", "gist", "label"], &["create", "edit", "close", "delete", "comment", "merge"]]),
            on(&["gh"]).sub(&[&["secret", "variable"], &["set", "delete"]]),
        ])
        .denies(&["gh issue create -t x -b y", "gh pr review 5 --approve", "gh workflow run deploy.yml", "gh secret set X -b y", "gh api repos/o/r/issues -f title=x", "gh api --method POST /repos/o/r/issues", "gh api -X DELETE repos/o/r", "glab mr merge 5", "gh auth logout"])
        .passes(&["gh pr view 5", "gh pr list", "gh issue view 12 --comments", "gh run list", "gh api repos/o/r/pulls", "gh pr checks 5", "gh pr diff 5", "gh repo clone o/r", "glab mr list"]),
    Rule::new("cloud.write", Cloud, "changing cloud resources")
        .because("they cost money and others depend on them", "show them (`list`, `describe`) and give the user the command")
        .on(&[
            on(&["aws"]).sub(&[&["*"], &["*"]]).unless(&[Test::Word(&["--dry-run", "--dryrun"]), Test::Word(&["describe-*", "list-*", "get-*", "head-*", "ls", "help", "wait", "lookup-*", "search-*", "scan", "query", "batch-get-*", "estimate-*", "filter-*", "validate-*", "preview-*", "view", "tail", "presign-x", "detect-*", "check-*", "count-*", "list", "export-x", "generate-presigned-url", "decode-*", "test-*", "start-query", "get"])]),
            on(&["gcloud", "gsutil", "bq", "az", "doctl", "hcloud", "linode-cli", "oci", "ibmcloud", "scw", "openstack", "nova", "aliyun", "tccli", "exo", "vultr-cli", "upctl", "civo", "flyctl", "fly", "heroku", "railway", "render", "firebase", "wrangler", "netlify", "vercel", "now", "surge", "amplify", "eb", "copilot", "supabase", "planetscale", "pscale", "turso", "neonctl", "mongocli", "atlas", "confluent", "databricks", "snow", "snowsql", "modal", "runpodctl", "vastai", "lambda-cloud", "sky", "dstack", "lightning", "sagemaker", "packet", "metal", "equinix"]).when(&[Test::Operand(VERBS)]).unless(&[Test::Word(&["--dry-run"]), Test::First(&["help"])]),
            on(&["vercel", "now", "netlify", "surge", "wrangler"]).when(&[Test::Flag(&["--prod", "--production"])]),
            on(&["vercel", "surge", "now"]).when(&[Test::Bare]),
            on(&["heroku"]).when(&[Test::First(&["*:destroy", "*:delete", "*:restart", "*:scale", "*:set", "*:unset", "*:reset", "*:rollback", "*:add", "*:remove", "*:create", "*:stop", "*:kill", "*:rotate", "*:push", "*:promote", "*:resize", "*:run", "run"])]),
            on(&["b2"]).when(&[Test::First(&["delete-*", "upload-*", "update-*", "create-*", "hide-*", "cancel-*", "sync", "rm", "file", "bucket"])]),
            on(&["ipfs"]).sub(&[&["pin", "files", "key", "config", "add", "name", "repo"]]).unless(&[Test::Operand(&["ls", "list", "stat", "show", "read"])]),
            on(&["circleci", "travis", "buildkite-agent", "drone"]).when(&[Test::First(&["trigger", "restart", "cancel", "run", "deploy", "pipeline", "build", "promote", "rollback"])]),
            on(&["s3cmd", "s4cmd", "s5cmd", "mc", "rclone", "azcopy", "b2", "swift", "gdrive", "dropbox", "aws-s3", "minio-mc"]).when(&[Test::First(&["del", "rm", "rb", "put", "mb", "sync", "mv", "cp", "copy", "copyto", "copyurl", "rcat", "move", "mirror", "policy", "setacl", "setpolicy", "upload", "remove", "delete", "purge", "modify", "expire", "admin", "ilm", "replicate", "update", "touch", "make", "post", "serve", "mount", "config"])]).unless(&[Test::Flag(&["-n", "--dry-run"])]),
            on(&["cloudflare", "flarectl", "namecheap", "route53", "dnscontrol", "octodns-sync", "nsupdate", "certbot", "acme.sh", "lego"]).unless(&[Test::First(&["certificates", "list", "preview", "check"]), Test::Flag(&["--dry-run", "--list"])]),
            on(&["ibmcloud", "firebase"]).when(&[Test::Operand(&["*-delete", "*-create", "*-update", "*-stop", "*-reboot", "*:delete", "*:create", "*:set", "*:deploy", "*:disable"])]),
            on(&["cf"]).sub(&[&["push", "delete", "stop", "start", "restart", "restage", "scale", "delete-*", "set-env", "map-route", "unmap-route", "create-*", "update-*", "bind-*", "unbind-*", "run-task", "login", "ssh"]]),
            on(&["surge"]).when(&[Test::Operands(1)]).unless(&[Test::First(&["list", "whoami"])]),
            on(&["ko"]).sub(&[&["publish", "apply", "delete", "resolve", "create"]]),
            on(&["stripe"]).when(&[Test::Operand(&["delete", "create", "update", "cancel", "confirm", "trigger", "refund", "capture", "post", "listen", "deploy"])]),
            on(&["sentry-cli"]).when(&[Test::Operand(&["new", "finalize", "delete", "upload*", "send-event", "set-commits", "login", "mute", "resolve"])]),
            on(&["ldcli", "pd", "amtool", "twilio", "opsgenie-cli", "newrelic", "datadog-ci"]).when(&[Test::Operand(&["create", "update", "delete", "add", "expire", "set", "ack", "resolve", "upload", "*:create", "*:update", "*:remove", "*:delete", "toggle-on", "toggle-off"])]),
            on(&["grafana-cli", "grafana"]).when(&[Test::Operand(&["install", "uninstall", "remove", "update", "update-all", "reset-admin-password"])]),
            on(&["java"]).when(&[Test::Contains(&["jenkins-cli.jar"])]),
            on(&["sbatch", "qsub", "bsub", "condor_submit", "condor_rm", "condor_hold", "condor_release", "salloc"]).unless(&[Test::Flag(&["--test-only", "--version", "-V"])]),
            on(&["ray"]).sub(&[&["stop", "down", "up", "start", "attach", "submit", "rsync-up", "kill-random-node"]]),
            on(&["ray"]).sub(&[&["job"], &["submit", "stop", "delete"]]),
            on(&["dropbox_uploader", "dropbox_uploader.sh", "mega-put", "mega-rm", "pastebinit", "onionshare", "onionshare-cli", "wgetpaste", "termbin", "haste", "gist"]).when(&[Test::Operands(1)]),
            on(&["web-ext"]).sub(&[&["sign"]]),
            on(&["gitlab-runner"]).sub(&[&["register", "unregister", "start", "stop", "restart", "install", "uninstall"]]),
        ])
        .denies(&["aws ec2 terminate-instances --instance-ids i-1", "aws s3 rm s3://b --recursive", "gcloud compute instances delete x -q", "az group delete -n x --yes", "vercel --prod", "fly deploy", "doctl compute droplet delete 1"])
        .passes(&["aws ec2 describe-instances", "aws s3 ls", "aws sts get-caller-identity", "gcloud compute instances list", "az vm list", "gcloud config list"]),
    Rule::new("cloud.infrastructure", Cloud, "applying or destroying infrastructure")
        .because("machines, networks and data appear or vanish", "make a plan (`terraform plan`, `ansible-playbook --check`) and show it to the user")
        .on(&[
            on(&["terraform", "tofu", "terragrunt", "terraform-docs-x", "tf"]).sub(&[&["apply", "destroy", "import", "taint", "untaint", "force-unlock", "refresh", "login", "logout", "run-all", "push", "apply-all", "destroy-all", "test"]]),
            on(&["terraform", "tofu", "terragrunt"]).sub(&[&["state", "workspace"], &["rm", "mv", "push", "replace-provider", "delete", "new"]]),
            on(&["terraform", "tofu", "terragrunt"]).when(&[Test::Word(&["-destroy", "-auto-approve", "--auto-approve"])]).unless(&[Test::First(&["plan"])]),
            on(&["pulumi"]).sub(&[&["up", "update", "destroy", "refresh", "import", "cancel", "stack", "config", "state", "watch", "down", "login", "logout"]]).unless(&[Test::Operand(&["ls", "output", "history", "get", "export", "graph"]), Test::Flag(&["--preview-only", "--diff-x"])]),
            on(&["cdk", "sam", "serverless", "sls", "cdktf", "copilot", "sst", "architect", "chalice", "zappa", "up", "waypoint", "nomad-pack", "kamal", "cap", "mina", "dokku", "capistrano"]).when(&[Test::Operand(&["deploy", "destroy", "remove", "delete", "rollback", "bootstrap", "sync", "apply", "undeploy", "update", "release", "setup", "redeploy", "stop", "apps:destroy", "publish"])]),
            on(&["ansible-playbook", "ansible-pull", "ansible-console"]).unless(&[Test::Flag(&["-C", "--check", "--syntax-check", "--list-hosts", "--list-tasks", "--list-tags", "--version"])]),
            on(&["ansible"]).unless(&[Test::Flag(&["-C", "--check", "--list-hosts", "--version"]), Test::Operand(&["ping", "setup", "stat", "debug", "gather_facts"])]),
            on(&["ansible-vault"]).unless(&[Test::First(&["encrypt_string-x"])]),
            on(&["salt", "salt-call", "salt-ssh", "salt-run", "puppet", "chef-client", "chef-solo", "knife", "cfagent", "cf-agent", "bolt", "fab", "mco", "rundeck", "saltutil", "pyinfra", "itamae", "mgmt", "dsc"]).when(&[Test::Operands(1)]).unless(&[Test::Flag(&["--noop", "--dry-run", "--list", "-l", "--version"]), Test::Operand(&["test.ping", "grains.items", "list", "show", "facts", "help"])]),
            on(&["chef-client"]),
            on(&["packer"]).sub(&[&["build"]]),
            on(&["vagrant"]).sub(&[&["destroy", "halt", "up", "reload", "suspend", "resume", "provision", "snapshot", "box", "package", "rsync", "upload"]]).unless(&[Test::Operand(&["list", "status"])]),
            on(&["consul"]).sub(&[&["kv", "acl", "config", "snapshot", "services", "operator", "intention", "force-leave", "leave", "maint", "lock", "exec"]]).unless(&[Test::Operand(&["get", "list", "read", "inspect", "export", "list-peers", "check", "match"])]),
            on(&["nomad"]).sub(&[&["job", "alloc", "node", "system", "namespace", "operator", "acl", "volume", "var", "deployment", "server", "stop", "run"]]).unless(&[Test::Operand(&["status", "inspect", "logs", "fs", "list", "plan", "history", "validate", "info", "get", "members", "snapshot-inspect", "list-peers"])]),
            on(&["vault"]).sub(&[&["write", "delete", "kv", "secrets", "auth", "policy", "operator", "lease", "token", "audit", "namespace", "plugin", "login", "unwrap", "ssh", "patch"]]).unless(&[Test::Operand(&["status", "list", "lookup", "metadata", "members", "key-status"])]),
            on(&["terraform", "tofu"]).sub(&[&["init"]]).when(&[Test::Word(&["-migrate-state", "-force-copy"])]),
        ])
        .denies(&["terraform destroy -auto-approve", "terraform apply", "pulumi up", "ansible-playbook site.yml", "vagrant destroy -f", "cdk deploy", "terraform state rm x"])
        .passes(&["terraform plan", "terraform init", "terraform validate", "pulumi preview", "ansible-playbook --check site.yml", "terraform state list", "terraform destroy -help"]),
    Rule::new("data.write", Data, "changing or deleting data in a database or queue")
        .because("there is no undo", "read with SELECT; give the user the statement")
        .on(&[
            on(&["mysql", "mariadb", "psql", "pgcli", "mycli", "sqlite3", "sqlite", "litecli", "duckdb", "sqlcmd", "sqlplus", "clickhouse-client", "clickhouse", "cockroach", "cqlsh", "mongo", "mongosh", "influx", "isql", "osql", "impala-shell", "beeline", "hive", "trino", "presto", "bq", "snowsql", "usql", "db2", "rqlite", "surreal", "arangosh", "cypher-shell", "neo4j-admin", "redis-cli"])
                .when(&[Test::Contains(&["drop ", "drop\t", "truncate", "delete ", "delete\t", "update ", "insert ", "alter ", "grant ", "revoke ", "create ", "replace into", "vacuum", "reindex", "rename ", "merge into", "copy ", "load data", "into outfile", "dropdatabase", ".drop(", "deletemany", "deleteone", "remove(", "insertmany", "insertone", "updatemany", "updateone", "replaceone", "findoneandd", "shutdownserver", "renamecollection", "createindex", "dropindex", "detach delete", "purge ", "kill ", "lo_unlink", "pg_terminate", "pg_cancel", ".restore", ".import", ".shell", ".system", "\\!", "attach ", "pragma writable", "optimize table", "flush ", "reset master", "set password", "exec xp_", "xp_cmdshell"])]),
            on(&["redis-cli", "valkey-cli", "keydb-cli"]).when(&[Test::Operand(&["FLUSHALL", "flushall", "FLUSHDB", "flushdb", "DEL", "del", "UNLINK", "unlink", "SET", "set", "CONFIG", "config", "SHUTDOWN", "shutdown", "EVAL", "eval", "RENAME", "rename", "EXPIRE", "expire", "MIGRATE", "migrate", "DEBUG", "debug", "SAVE", "BGSAVE", "SLAVEOF", "slaveof", "REPLICAOF", "replicaof", "CLUSTER", "cluster", "SCRIPT", "script", "HDEL", "hdel", "HSET", "hset", "LPUSH", "lpush", "RPUSH", "LPOP", "lpop", "RPOP", "SADD", "SREM", "ZADD", "ZREM", "XADD", "XDEL", "XTRIM", "RESTORE", "MOVE", "COPY", "SWAPDB", "swapdb", "ACL", "acl", "MODULE", "module", "PERSIST", "INCR", "incr", "DECR", "APPEND", "SETEX", "MSET", "PUBLISH", "publish", "CLIENT", "FAILOVER", "FUNCTION"])]).unless(&[Test::Operand(&["GET", "get", "INFO", "info"])]),
            on(&["python", "python2", "python3", "python3.*"]).when(&[Test::First(&["manage.py", "*/manage.py"]), Test::Operand(&["flush", "reset_db", "sqlflush", "drop_test_database"])]),
            on(&["influx"]).sub(&[&["delete", "bucket", "org", "user", "restore", "write", "auth"]]).unless(&[Test::Operand(&["list", "ls"])]),
            on(&["dropdb", "createdb", "dropuser", "createuser", "pg_restore", "pg_resetwal", "pg_rewind", "pg_upgrade", "vacuumdb", "reindexdb", "clusterdb", "initdb", "mongorestore", "mongoimport", "mysqlimport", "mysql_upgrade", "mysql_secure_installation", "mysql_install_db", "mariadb-upgrade", "myisamchk", "innochecksum", "nodetool", "sstableloader", "etcd-dump", "curator", "curator_cli", "influxd", "cbq", "couchbase-cli", "pgbench", "sysbench", "pt-archiver", "pt-online-schema-change", "gh-ost", "wal-g", "pgbackrest", "barman"]).unless(&[Test::Flag(&["-l", "--list", "--dry-run"]), Test::First(&["info", "status", "check", "list-*", "tpstats", "ring", "describecluster", "backup-list"])]),
            on(&["kafka-topics", "kafka-topics.sh", "kafka-consumer-groups", "kafka-consumer-groups.sh", "kafka-configs", "kafka-configs.sh", "kafka-acls", "kafka-delete-records", "kafka-delete-records.sh", "kafka-reassign-partitions", "kafka-console-producer", "kafka-console-producer.sh"]).when(&[Test::Flag(&["--delete", "--create", "--alter", "--reset-offsets", "--add", "--remove", "--execute", "--offset-json-file", "--topic"])]).unless(&[Test::Flag(&["--describe", "--list"])]),
            on(&["rabbitmqadmin", "nats", "pulsar-admin", "kcat", "kafkacat", "rpk", "mosquitto_pub", "mqttx", "amqp-publish", "amqp-delete-queue", "zkCli.sh", "zookeepercli"]).when(&[Test::Word(&["delete", "purge", "declare", "publish", "pub", "rm", "create", "-P", "set", "deleteall", "rmr", "remove", "edit", "produce", "-t", "clear-backlog", "unload", "put"])]),
            on(&["alembic", "flyway", "liquibase", "dbmate", "migrate", "goose", "sqitch", "atlas", "knex", "sequelize", "typeorm", "prisma", "rails", "rake", "artisan", "diesel", "sqlx", "ecto", "drizzle-kit", "django-admin", "flask", "mix"]).when(&[Test::Operand(&["downgrade", "clean", "drop", "dropall", "dropAll", "reset", "down", "rollback", "revert", "redo", "db:drop", "db:reset", "db:migrate:reset", "db:rollback", "db:purge", "db:schema:load", "migrate:fresh", "migrate:reset", "migrate:rollback", "migrate:refresh", "db:wipe", "schema:drop", "ecto.drop", "ecto.reset", "ecto.rollback", "flush", "sqlflush", "reset_db", "undo", "db:migrate:undo:all", "push", "undo:all", "rollback:all"])]),
            on(&["psql"]).when(&[Test::Flag(&["-f", "--file"])]),
            on(&["sqlite3", "sqlite"]).when(&[Test::Contains(&[".read", ".restore", ".import", ".clone", ".save"])]),
            on(&["kafka-console-producer", "kafka-console-producer.sh"]),
        ])
        .denies(&["mysql -e 'DROP TABLE users'", "psql -c 'delete from t'", "redis-cli FLUSHALL", "sqlite3 app.db 'DROP TABLE t'", "dropdb prod", "mongosh --eval 'db.dropDatabase()'"])
        .passes(&["psql -c 'select 1'", "redis-cli get x", "sqlite3 app.db 'select * from t'", "sqlite3 app.db .schema", "mysql -e 'show tables'"]),
];
