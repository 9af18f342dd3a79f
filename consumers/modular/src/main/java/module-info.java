/** A user's module; the names are those in the manifests. */
module org.example.modular {
    requires org.moe4j.core;
    requires org.moe4j.router;
}
